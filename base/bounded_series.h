// What several things come to over time, in bounded memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// Rows of numbered things, one for each interval in which there is something to tell of one. When they are full the
/// interval doubles, and of two rows of a thing that then are in one interval one remains; a row for which even that
/// makes no room is lost and counted. So all of the time is covered at one resolution.
///
/// A Row has a `Time at`, the number `uint32_t of` of its thing, and `void add(const Row& later)`, which makes it the
/// row of both. No allocation after `begin`; one thread.
template <class Row>
class BoundedSeries {
 public:
  /// `interval` > 0; `rows` is how many are kept, > 0.
  BoundedSeries(Duration interval, uint32_t rows) : capacity_(rows), interval_(interval) {}

  /// Of `things` things, before any row. Throws std::bad_alloc.
  void begin(uint32_t things) {
    latest_.assign(things, kNone);
    rows_.clear();
    rows_.reserve(capacity_);
    known_ = 0;
  }

  /// `row.at` is now, >= 0, and of no thing does it decrease; it becomes the end of its interval.
  void add(Row row) noexcept {
    const Time now = row.at;
    while (true) {
      row.at = end_of_interval(now);
      if (joins(row)) return;
      if (rows_.size() < capacity_) break;
      // Of each thing there is one row already: only a thing that has one can still do without another.
      if (known_ == rows_.size() && latest_[row.of] == kNone) {
        ++lost_;
        return;
      }
      interval_ = interval_ * 2;
      put_together();
    }
    if (latest_[row.of] == kNone) ++known_;
    latest_[row.of] = static_cast<uint32_t>(rows_.size());
    rows_.push_back(row);
  }

  /// Makes the interval as long as `interval` if that is longer: this one times a power of two.
  void lengthen(Duration interval) noexcept {
    interval_ = std::max(interval_, interval);
    put_together();
  }

  Duration interval() const noexcept { return interval_; }
  /// Of each thing in the order of time. Some may be of a shorter interval until `lengthen` is called.
  std::span<const Row> rows() const noexcept { return rows_; }
  uint64_t lost() const noexcept { return lost_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  Time end_of_interval(Time now) const noexcept { return Time((now.ps / interval_.ps + 1) * interval_.ps); }

  bool joins(const Row& row) noexcept {
    const uint32_t latest = latest_[row.of];
    if (latest == kNone || rows_[latest].at < row.at) return false;
    rows_[latest].add(row);
    return true;
  }

  void put_together() noexcept {
    std::ranges::fill(latest_, kNone);
    uint32_t kept = 0;
    for (const Row& each : rows_) {
      Row row = each;
      row.at = end_of_interval(row.at - Duration(1));
      if (joins(row)) continue;
      latest_[row.of] = kept;
      rows_[kept++] = row;
    }
    rows_.resize(kept);
  }

  uint32_t capacity_;
  Duration interval_;
  std::vector<uint32_t> latest_;  ///< by thing: its last row
  std::vector<Row> rows_;
  size_t known_ = 0;  ///< things that have rows
  uint64_t lost_ = 0;
};

}  // namespace rankwire
