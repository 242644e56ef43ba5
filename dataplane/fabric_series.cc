#include "dataplane/fabric_series.h"

#include <algorithm>

namespace rankwire {

/// Doubles the interval until a row is free; false when that does not help.
bool FabricSeries::coarsen() noexcept {
  constexpr int kMostDoublings = 16;
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
  return rows_.size() < capacity_;
}

}  // namespace rankwire
