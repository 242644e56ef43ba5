// From the keys of `fabric` to its switches and cables.
#pragma once

#include <cstdint>

#include "emulator/input/config.h"
#include "fabric/topology.h"

namespace rankwire {

/// One attachment a port, in their order. `config.fabric` is set. Throws Error(kInput), without the place, for what is
/// no topology.
Topology fabric_topology(const RunConfig& config);

/// The number of the cable that `failure` names. Throws Error(kInput), without the place, when there is none.
uint32_t failing_cable(const Topology& topology, const FabricFailureConfig& failure);

}  // namespace rankwire
