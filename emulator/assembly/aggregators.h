// The aggregators of a configuration as ranks of a run.
#pragma once

#include "emulator/assembly/setup.h"

namespace rankwire {

/// Adds the aggregators of `collectives.aggregators` behind the ranks of the trace, which are placed already, with
/// places for them (PlacementOptions::further).
void add_aggregators(Setup& setup);

}  // namespace rankwire
