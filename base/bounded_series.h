// What several things come to over time, in bounded memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// Rows of numbered things, one for each interval in which there is something to tell of one. When they are full the
/// interval doubles, and of two rows of a thing that then are in one interval one remains; a row for which even that
/// makes no room is lost and counted. So all of the time is covered at one resolution.
///
/// A Row has a `Time at`, the number `uint32_t of` of its thing, and `void add(const Row& later)`, which makes it the
/// row of both. No allocation after `begin`; one thread, but for `read`.
template <class Row>
class BoundedSeries {
 public:
  /// `interval` > 0; `rows` is how many are kept, > 0.
  BoundedSeries(Duration interval, uint32_t rows) : capacity_(rows), interval_(interval) {}

  /// Of `things` things, before any row, and while nobody reads. Throws std::bad_alloc.
  void begin(uint32_t things) {
    latest_.assign(things, kNone);
    rows_.clear();
    rows_.reserve(capacity_);
    known_ = 0;
    told_->rows = 0;
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
        told_->lost.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      put_together(interval_ * 2);
    }
    if (latest_[row.of] == kNone) ++known_;
    latest_[row.of] = static_cast<uint32_t>(rows_.size());
    rows_.push_back(row);
    tell(row.at - interval_ * 2);  // things that are a little behind still add to theirs
  }

  /// No row will be of a time before `now`: what is over by then can be read, though none has come since. Cheap.
  void pass(Time now) noexcept {
    const size_t told = told_->rows.load(std::memory_order_relaxed);
    if (told < rows_.size() && rows_[told].at <= now) tell(now);
  }

  /// Makes the interval as long as `interval` if that is longer: this one times a power of two.
  void lengthen(Duration interval) noexcept { put_together(std::max(interval_, interval)); }

  Duration interval() const noexcept { return interval_; }
  /// Of each thing in the order of time. Some may be of a shorter interval until `lengthen` is called.
  std::span<const Row> rows() const noexcept { return rows_; }
  uint64_t lost() const noexcept { return told_->lost.load(std::memory_order_relaxed); }

  /// How far somebody has read.
  struct Cursor {
    uint32_t generation = 0;
    size_t rows = 0;
  };
  struct Part {
    size_t rows = 0;    ///< that were read
    bool anew = false;  ///< rows have changed since the last reading: it begins with the first one again
    Duration interval;
  };
  /// Copies rows behind whose interval another one is over from the cursor on, as many as `out` takes, and moves it.
  /// One other thread may call it at any time after `begin`: it holds up nobody but an interval that doubles.
  Part read(Cursor& cursor, std::span<Row> out) const noexcept {
    const std::lock_guard lock(told_->changing);
    Part part{.anew = cursor.generation != told_->generation, .interval = interval_};
    if (part.anew) cursor = {.generation = told_->generation};
    // Rows never move, and those that are told are not written but under the lock.
    const std::span<const Row> told(rows_.data(), told_->rows.load(std::memory_order_acquire));
    part.rows = std::min(out.size(), told.size() - cursor.rows);
    std::ranges::copy(told.subspan(cursor.rows, part.rows), out.begin());
    cursor.rows += part.rows;
    return part;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  Time end_of_interval(Time now) const noexcept { return Time((now.ps / interval_.ps + 1) * interval_.ps); }

  bool joins(const Row& row) noexcept {
    const uint32_t latest = latest_[row.of];
    if (latest == kNone || rows_[latest].at < row.at) return false;
    // Of a thing that is behind others the row may have been told.
    std::unique_lock lock(told_->changing, std::defer_lock);
    if (latest < told_->rows.load(std::memory_order_relaxed)) lock.lock(), ++told_->generation;
    rows_[latest].add(row);
    return true;
  }

  /// Those whose interval was over at `now`.
  void tell(Time now) noexcept {
    size_t told = told_->rows.load(std::memory_order_relaxed);
    while (told < rows_.size() && rows_[told].at <= now) ++told;
    told_->rows.store(told, std::memory_order_release);
  }

  void put_together(Duration interval) noexcept {
    const std::lock_guard lock(told_->changing);
    ++told_->generation;
    told_->rows.store(0, std::memory_order_relaxed);
    interval_ = interval;
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
  /// What another thread may read. A series can be moved before it begins.
  struct Told {
    std::atomic<size_t> rows = 0;  ///< of the first ones
    std::mutex changing;           ///< held while those change, and while they are read
    uint32_t generation = 0;       ///< times that they have changed
    std::atomic<uint64_t> lost = 0;
  };
  std::unique_ptr<Told> told_ = std::make_unique<Told>();
};

}  // namespace rankwire
