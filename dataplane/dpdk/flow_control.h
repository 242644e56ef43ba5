// Who obeys PFC frames on a DPDK device: the device, or whoever receives its frames.
#pragma once

#include <string>

#include "dataplane/wire/pause.h"

namespace rankwire {

/// `device` is as in `open_dpdk_queues`, which has opened it. Both return why the device does not do it, in words for
/// people, and an empty text when it does.
///
/// Has the device obey PFC frames for `priorities` (not empty). Its transmit queue carries all of them, so which of
/// them stop together is the driver's to say.
std::string obey_pauses_on_device(const std::string& device, PrioritySet priorities);
/// Has it obey none, and hand PFC and PAUSE frames over like any other.
std::string receive_pauses_from_device(const std::string& device);

}  // namespace rankwire
