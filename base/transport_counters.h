// Counters of transports as lists: their names, and their sums.
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

struct RdmaCounterField {
  const char* name;
  uint64_t RdmaCounters::*field;
};

/// Every one, in the order of RdmaCounters.
std::span<const RdmaCounterField> rdma_counters();

/// Counts add up; of durations, which are those of the worst port or queue pair, the longer stays.
TransportCounters& operator+=(TransportCounters& sum, const TransportCounters& other);
RdmaCounters& operator+=(RdmaCounters& sum, const RdmaCounters& other);
RdmaCounters operator+(RdmaCounters a, const RdmaCounters& b);

}  // namespace rankwire
