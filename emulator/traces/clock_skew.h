// How far the clocks of the ranks are apart, from the collectives in which they met.
#pragma once

#include <vector>

#include "emulator/traces/rank_set.h"

namespace rankwire {

/// By place: how much later the rank's clock shows the end of the collectives that it shares with the others than the
/// median of their members does; the median over those collectives. Empty when no start times are recorded, or nothing
/// contradicts clocks that agree: in a collective from which nobody can return before all have come, a member ends
/// before another starts. Such ranks are added to the findings.
std::vector<Duration> clock_offsets(const RankSet& set, const Matches& matches, Findings& findings);

}  // namespace rankwire
