// Frames that a run's ports need, and what it asks of DPDK, held against what DPDK and the configuration have for it.
#pragma once

#include <string>

#include "base/units.h"
#include "dataplane/dpdk/environment.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

constexpr uint32_t kQueueFrames = 4096;       ///< of a link to the embedded switch, each direction
constexpr uint32_t kFramesOfOtherLinks = 63;  ///< of a link to a shard of it by which nothing comes back

/// The most frames that one port's ranks can have on the way: their windows of data, and what a full output queue
/// holds.
uint32_t frames_of_port(const Setup& setup, PortId port);
/// That and more, as far as the memory of DPDK goes and any windows need them: so that devices can stay open for a run
/// with larger ones.
uint32_t roomy_frames_of_port(const Setup& setup, PortId port);
/// Of all ports together.
uint64_t frames_of_ports(const Setup& setup);

/// Bytes of the largest IP header and what follows it around the payload.
uint32_t header_bytes(const RunConfig& config);

/// What DPDK is started with for a run, or for several in turn, of which each has these. `machine`: for its ports
/// alone; empty: for all.
DpdkOptions dpdk_options(const RunConfig& config, const std::string& machine = {});

/// Devices that the ports are to DPDK in real time; 0 when there are none of its own. `machine`: the same.
uint32_t dpdk_devices(const RunConfig& config, const std::string& machine = {});

/// Memory of DPDK in ordinary pages for these devices' frames and rings; what drivers take comes on top.
Bytes dpdk_memory(const Setup& setup);

/// Throws Error(kInput) naming the key when a run in real time would want more devices than DPDK has, or frames for
/// which `dpdk.memory` is too small.
void require_room_in_dpdk(const Setup& setup);

}  // namespace rankwire
