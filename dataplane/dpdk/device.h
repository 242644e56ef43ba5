// An ethdev as an owned thing, and how it is configured.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <string>

#include "base/units.h"

namespace rankwire {

/// Stops and closes the device when it goes, and removes a virtual one from its bus, so that its name is free again. A
/// virtio-user server it stops only: no other can have its name in this process.
class DpdkDevice {
 public:
  explicit DpdkDevice(uint16_t id) : id_(id) {}
  ~DpdkDevice();
  DpdkDevice(const DpdkDevice&) = delete;
  DpdkDevice& operator=(const DpdkDevice&) = delete;

  uint16_t id() const noexcept { return id_; }

 private:
  const uint16_t id_;
};

/// What the device can do of what a port of `queues` queues wants: receive time stamps, and with several queues
/// receive-side scaling over UDP ports and addresses, over addresses alone where it can no more.
rte_eth_conf receive_configuration(const rte_eth_dev_info& info, uint16_t queues);

/// Frees the frames that the started device has received already. Linux gives a packet socket the frames of all
/// interfaces until it is bound to its own (packet(7)), which net_af_packet does last: these are not of its line.
void drop_received(uint16_t id, uint16_t queues);

/// Throws Error(kRun) naming `device` when the link is still down after `deadline`.
void wait_for_link(uint16_t id, const std::string& device, Duration deadline);

}  // namespace rankwire
