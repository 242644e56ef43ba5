// When executions began and ended, in an order in which all that something may have waited for comes before it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "emulator/diagnosis/executions.h"

namespace rankwire {

/// The start or the end of one of the executions.
struct ExecutionMoment {
  Time at;
  uint64_t order;  ///< of those of one time, descending: a phase, the index backwards, and whether it is the start

  uint32_t index() const { return ~static_cast<uint32_t>(order >> 1); }
  bool is_start() const { return (order & 1) != 0; }
};

/// The latest first: read backwards it is an order in which they may happen. At one time ends come before starts, but
/// what takes no time starts and ends between them, and those of a rank in the order in which they are: later ones may
/// wait for earlier ones. Time: n log n.
std::vector<ExecutionMoment> moments_from_the_end(const Executions& executions);

}  // namespace rankwire
