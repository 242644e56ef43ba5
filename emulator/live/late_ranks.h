// Which ranks are behind the others of their jobs while a run goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/engine/live_feed.h"

namespace rankwire {

/// The rank of a job that is furthest behind the median of the job's ranks.
struct LateRank {
  RankId rank;
  std::string operation;    ///< the one whose execution ended last; empty: none has, or its name is not known
  Time last_end;            ///< run time, 0 where none has ended
  Duration silent;          ///< from then on to the publication
  uint64_t operations = 0;  ///< > 0: executions by which it is behind the median
  Duration behind;          ///< by how much it ended its last execution before the median rank ended its own, or 0
};

/// By job; absent where no rank is an execution or more behind, or none is told of. Ranks are compared by the part of
/// their executions that has ended, since not all have as many; the median is the rank of which half of the ranks or
/// more are as far. Of several that are as far behind the first to have ended its last execution.
std::vector<std::optional<LateRank>> late_ranks(const LiveFeed& feed, const LiveFigures& figures);

}  // namespace rankwire
