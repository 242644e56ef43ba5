#include "dataplane/switch/series.h"

#include <algorithm>

namespace rankwire {

/// Doubles the interval until a row is free; false when that does not help.
bool FabricSeries::coarsen() noexcept {
  constexpr int kMostDoublings = 16;
  const std::lock_guard lock(coarsening_);
  ++generation_;
  for (int i = 0; i < kMostDoublings && rows_.size() == capacity_; ++i) {
    interval_ = interval_ * 2;
    std::fill(latest_.begin(), latest_.end(), UINT32_MAX);
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
  told_.store(rows_.size(), std::memory_order_release);
  return rows_.size() < capacity_;
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
