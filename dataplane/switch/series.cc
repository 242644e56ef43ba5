#include "dataplane/switch/series.h"

#include <algorithm>

namespace rankwire {

/// How many rows would be left, however long the interval became: what is before time 0 and what is behind it are never
/// in one.
uint32_t FabricSeries::rows_at_least() noexcept {
  std::ranges::fill(latest_, 0);
  uint32_t rows = 0;
  for (const FabricSample& row : rows_) {
    const uint32_t side = row.at > Time() ? 2 : 1;
    uint32_t& sides = latest_[row.port * kPriorities + row.priority];
    rows += (sides & side) == 0;
    sides |= side;
  }
  return rows;
}

/// Puts rows together, and doubles the interval, until a row is free; false when that does not help, since of no queue
/// two rows could be one.
bool FabricSeries::coarsen() noexcept {
  if (is_full_) return false;
  const std::lock_guard lock(coarsening_);
  ++generation_;
  // To begin with those that are in one interval already: rows that have been written since it was doubled.
  for (put_together(); rows_.size() == capacity_; put_together()) {
    is_full_ = rows_at_least() == capacity_;
    if (is_full_) break;
    interval_ = interval_ * 2;
  }
  told_.store(rows_.size(), std::memory_order_release);
  return !is_full_;
}

/// Of rows of a queue that are in one interval the last stays, with the counts of all.
void FabricSeries::put_together() noexcept {
  std::ranges::fill(latest_, UINT32_MAX);
  uint32_t kept = 0;
  for (const FabricSample& row : rows_) {
    FabricSample moved = row;
    moved.at = end_of_interval(row.at - Duration(1));
    uint32_t& latest = latest_[row.port * kPriorities + row.priority];
    if (latest != UINT32_MAX && rows_[latest].at == moved.at) {
      moved.events += rows_[latest].events;
      rows_[latest] = moved;
    } else {
      latest = kept;
      rows_[kept++] = moved;
    }
  }
  rows_.resize(kept);
}

SeriesPart FabricSeries::read(SeriesCursor& cursor, std::span<FabricSample> out) const noexcept {
  const std::lock_guard lock(coarsening_);
  SeriesPart part{.anew = cursor.generation != generation_, .interval = interval_, .lost = lost()};
  if (part.anew) cursor = {.generation = generation_};
  // Rows never move, and those that are told are not written: beside the lock only their number changes.
  const std::span<const FabricSample> told(rows_.data(), told_.load(std::memory_order_acquire));
  part.rows = std::min(out.size(), told.size() - cursor.rows);
  std::ranges::copy(told.subspan(cursor.rows, part.rows), out.begin());
  cursor.rows += part.rows;
  return part;
}

}  // namespace rankwire
