// Stragglers of ranks that were looked at one after another, from little of each of their collectives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/traces/rank_set.h"
#include "emulator/traces/stragglers.h"

namespace rankwire {

/// A collective at one rank, with recorded times on the clock of all.
struct TimedCall {
  uint32_t node = 0;  ///< of the set: one of the same kind and group
  Time arrival, start;
  Duration duration;
};

/// As find_stragglers tells them of recorded times. `calls` are by place, in file order; of the nodes of `set` kinds
/// and groups alone are looked at.
Stragglers find_recorded_stragglers(const RankSet& set, std::span<const std::vector<TimedCall>> calls);

}  // namespace rankwire
