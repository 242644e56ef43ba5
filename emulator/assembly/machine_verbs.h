// What the machines of a run tell each other of the RDMA devices among their ports: each finds its own alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/assembly/verbs_ports.h"
#include "emulator/machines/machines.h"

namespace rankwire {

/// The least of what all machines say, each of its own devices: bytes, as largest_path_mtu tells it. Every machine of
/// an emulated run asks, whatever its configuration, since no two have been compared by then. Throws as Machines does.
uint32_t least_path_mtu(Machines& machines, uint32_t own);

/// Where the configuration leaves the path MTU to the RDMA devices of a run: what they carry, which plan and reference
/// follow from. `machines`: of a run over several, each of which asks its own; null: there is one, which is asked
/// nothing of ports that name several. Throws Error(kInput) naming the port, and as Machines does.
void take_path_mtu(RunConfig& config, Machines* machines);

/// Those of all machines, in the order of their ports, on each; `ports` are this one's. The set-up's configuration is
/// that of all, and so is the number of its RDMA devices. Throws as Machines does.
std::vector<VerbsAddresses> addresses_of_all(Machines& machines, const Setup& setup, std::span<const VerbsPort> ports);

}  // namespace rankwire
