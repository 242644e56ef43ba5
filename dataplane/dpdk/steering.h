// Which queue of a DPDK device receives the frames for which link address.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/address.h"

namespace rankwire {

/// Frames to `address` go to receive queue `queue`.
struct SteeredAddress {
  MacAddress address;
  uint16_t queue = 0;

  bool operator==(const SteeredAddress&) const = default;
};

/// Has the device, which has been started, steer by rules of rte_flow, which last until it is closed. Of several
/// emulated NICs on one device each has a link address, so that all that a NIC is sent, whoever sends it, arrives at
/// one queue: requests, answers and what neighbours say. `device` is named in errors: throws Error(kInput) with the
/// driver's reason when the device does not take a rule.
void steer_frames(uint16_t id, const std::string& device, std::span<const SteeredAddress> addresses);

}  // namespace rankwire
