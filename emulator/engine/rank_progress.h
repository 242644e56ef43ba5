// How far a rank of a run has come.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

struct RankProgress {
  uint64_t ended = 0;  ///< executions of its nodes
  Time last_end;       ///< the latest end of any, 0 before the first
  uint32_t last = 0;   ///< the node whose execution ended last, by its place in the trace
};

}  // namespace rankwire
