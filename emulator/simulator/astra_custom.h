// Collectives whose algorithm is a set of traces.
#pragma once

#include <memory>
#include <span>

#include "emulator/simulator/astra_phase.h"
#include "emulator/simulator/astra_program.h"

namespace rankwire {

/// An algorithm that each member's graph describes; every SEND has a RECV with the same tag, ends and size, and the
/// n-th of them issued belong together. Nodes begin when they are ready; sizes are those of the graphs, whatever the
/// collective's. `members` outlives it.
std::unique_ptr<AstraAlgorithm> make_astra_custom(std::span<const AstraRank> members, AstraPhaseHost& host);

}  // namespace rankwire
