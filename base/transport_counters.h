// TransportCounters as a list: their names, which are those of `summary.json`, and their sums.
#pragma once

#include <cstdint>
#include <span>

#include "base/transport.h"

namespace rankwire {

struct CounterField {
  const char* name;
  uint64_t TransportCounters::*field;
};

/// Every integer counter, in the order of TransportCounters. The durations are stored as `worst_stall_ps`, `slipped_ps`
/// and `pacing_slipped_ps`.
std::span<const CounterField> transport_counters();

/// Counts add up; of durations, which are those of the worst port or queue pair, the longer stays.
TransportCounters& operator+=(TransportCounters& sum, const TransportCounters& other);

}  // namespace rankwire
