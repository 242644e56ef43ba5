// Devices that stay open from one run of the process to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/dpdk/device.h"
#include "dataplane/dpdk/port.h"

struct rte_mempool;

namespace rankwire {

/// A started device, and what its queues' frames lie in.
struct OpenDpdkDevice {
  explicit OpenDpdkDevice(uint16_t id) : device(id) {}

  const DpdkDevice device;
  DpdkPortOptions options;                   ///< that it was opened with
  uint32_t capacity = 0;                     ///< bytes of a frame
  std::vector<rte_mempool*> received, sent;  ///< by queue; the environment's
};

/// Whether it does for ports as if it had been opened for them: the options are those that it was opened with, or ask
/// for fewer frames; its line is up; and all frames are back but those that its descriptors may hold.
bool serves(const OpenDpdkDevice& open, const DpdkPortOptions& wanted);

/// Whether ports stand on what the environment has kept.
bool is_used(const std::shared_ptr<OpenDpdkDevice>& kept);

/// Closes all that the environment has kept unless it is these, and each serves: the memory of frames can be given back
/// only when no device is open. There are no ports. Whether something was closed.
bool close_unlike(DpdkEnvironment& environment, std::span<const std::pair<std::string, DpdkPortOptions>> wanted);

}  // namespace rankwire
