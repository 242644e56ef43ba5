// How a device of DPDK is made ready for the ports that stand on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/kept_device.h"
#include "dataplane/dpdk/port.h"

namespace rankwire {

/// A pool that is the environment's. Throws Error(kRun) when there is not enough memory.
rte_mempool* make_frame_pool(DpdkEnvironment& environment, uint32_t frames, uint32_t capacity, int socket);

/// Configures and starts it, with as many queues as pools: each receive queue takes its frames from one of its own.
/// `device` is named in errors; throws Error as open_dpdk_queues does.
void start_device(uint16_t id, std::span<rte_mempool* const> pools, const DpdkEnvironment& environment,
                  const std::string& device, const DpdkPortOptions& options);

/// Started, as open_dpdk_queues says: one that the environment has kept, where it serves, or opened anew.
std::shared_ptr<const OpenDpdkDevice> open_device(DpdkEnvironment& environment, const std::string& device,
                                                  const DpdkPortOptions& options);

}  // namespace rankwire
