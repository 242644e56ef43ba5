// SimGrid's fluid network as an oracle of max-min shares.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tests/simulator/flow_sets.h"

namespace rankwire {

/// The rates of all flows of each set, in bits a second, or nothing where SimGrid is not installed. Once a process.
std::optional<std::vector<std::vector<double>>> simgrid_rates(std::span<const FlowSet> sets);

}  // namespace rankwire
