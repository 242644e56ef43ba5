// The names under which TransportCounters are stored: those of `summary.json`.
#pragma once

#include <cstdint>
#include <span>

#include "base/transport.h"

namespace rankwire {

struct CounterField {
  const char* name;
  uint64_t TransportCounters::*field;
};

/// Every integer counter, in the order of TransportCounters. The two durations are stored as `worst_stall_ps` and
/// `slipped_ps`.
std::span<const CounterField> transport_counters();

}  // namespace rankwire
