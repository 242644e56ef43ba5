// What ports will take of DPDK, known before the environment is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "dataplane/dpdk/port.h"

namespace rankwire {

/// Devices that DPDK, as it is installed, has room for; a ring link is two.
uint32_t most_dpdk_devices();

/// How long the name of a ring link may be: net_ring puts it, with its own prefix and what tells the ends apart, into
/// the name of a ring (RTE_RING_NAMESIZE).
size_t longest_ring_link_name();

/// What `options.memory` bounds: nothing with huge pages, of which as many are taken as are free, nor where the extra
/// arguments say how much memory there is.
std::optional<Bytes> dpdk_memory_limit(const DpdkOptions& options);

/// The environment's memory, in ordinary pages, of a pool of `frames` frames of `capacity` bytes: frames, caches of
/// threads, list of free frames.
Bytes frame_pool_memory(uint32_t frames, uint32_t capacity);

/// What a pool can do without when it is the last for which there is memory: its frames then lie one behind the other,
/// across pages.
Bytes frame_pool_slack(uint32_t frames, uint32_t capacity);

/// The memory of what `make_ring_link` makes.
Bytes ring_link_memory(const RingLinkOptions& options);

/// The memory of the pools of what `open_dpdk_queues` opens; what the driver takes comes on top.
Bytes dpdk_queues_memory(const DpdkPortOptions& options);

}  // namespace rankwire
