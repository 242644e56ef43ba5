// Whether a virtual fabric can be made from what is asked for.
#pragma once

#include <cstddef>
#include <span>

#include "dataplane/switch/options.h"
#include "fabric/topology.h"

namespace rankwire {

/// `hosts`: how many hosts' ports there are. `devices`: options of every switch, or one for all. Throws Error(kInput)
/// for values out of range.
void check_fabric(const Topology& topology, size_t hosts, std::span<const FabricSwitchOptions> devices,
                  const FabricOptions& options);

}  // namespace rankwire
