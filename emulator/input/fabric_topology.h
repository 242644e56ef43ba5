// From the keys of `fabric` to its switches and cables.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/input/config.h"
#include "fabric/topology.h"

namespace rankwire {

/// One attachment a port, in their order, as fast as the port. `config.fabric` is set. Throws Error(kInput), without
/// the place in the configuration, for what is no topology, and for a port that is faster than its cable.
Topology fabric_topology(const RunConfig& config);

/// What the fabric can take from each port: the rate of its cable, or of all cables of the router that it has to
/// itself. Empty where the fabric's rates follow from those of the ports. Throws as above.
std::vector<Bandwidth> fabric_port_rates(const RunConfig& config);

/// The cables that `failure` names, as CableEvent numbers them. `config` has the ports' names. Throws Error(kInput),
/// without the place, when there are none.
std::vector<uint32_t> failing_cables(const RunConfig& config, const Topology& topology,
                                     const FabricFailureConfig& failure);

}  // namespace rankwire
