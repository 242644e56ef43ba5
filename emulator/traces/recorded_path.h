// The critical path of a set whose start times are recorded.
#pragma once

#include <vector>

#include "emulator/traces/timing.h"

namespace rankwire {

/// Back from the node that ends last, each time to what ended last of: what the node depends on, what its stream or
/// thread did before, and, of a RECV, its SEND. A collective goes on at the member that began last, whatever its rank.
/// A step counts until the next one began, so steps never overlap, and what lies between two is no node's. In order of
/// time. O(nodes log nodes).
std::vector<PathStep> recorded_path(const RankSet& set, const Matches& matches,
                                    const std::vector<std::vector<Span>>& spans);

}  // namespace rankwire
