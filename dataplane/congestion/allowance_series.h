// What congestion control allows over time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bounded_series.h"
#include "base/units.h"
#include "dataplane/congestion/control.h"

namespace rankwire {

/// What a queue pair may send at the end of an interval in which that changed. Without a row nothing did.
struct AllowanceSample {
  Time at;
  uint32_t of = 0;  ///< queue pair
  Allowance allowance;
  Bandwidth lowest;       ///< rate in the interval
  Bytes smallest_window;  ///< in the interval

  void add(const AllowanceSample& later) noexcept {
    allowance = later.allowance;
    lowest = std::min(lowest, later.lowest);
    smallest_window = std::min(smallest_window, later.smallest_window);
  }
};

using AllowanceSeries = BoundedSeries<AllowanceSample>;

}  // namespace rankwire
