#include "dataplane/dpdk/presence.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/pci_address.h"
#include "dataplane/dpdk/vdev.h"

namespace rankwire {
namespace {

/// Whether the interface has this flag; what cannot be asked counts as having it.
bool has_flag(const std::string& interface, int flag) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return true;
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  const bool is_known = ::ioctl(socket, SIOCGIFFLAGS, &request) == 0;
  ::close(socket);
  return !is_known || (request.ifr_flags & flag) != 0;
}

}  // namespace

DevicePresence::DevicePresence(std::string device)
    : device_(std::move(device)), interface_(vdev_value(device_, "iface")) {
  if (!interface_.empty()) index_ = ::if_nametoindex(interface_.c_str());
  const bool is_short = is_pci_address(device_) && std::ranges::count(device_, ':') == 1;
  const std::string name = is_short ? "0000:" + device_ : vdev_name(device_);
  uint16_t id = 0;
  if (::rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) id_ = id;
}

std::string DevicePresence::absence() const {
  if (index_ != 0) {
    const unsigned now = ::if_nametoindex(interface_.c_str());
    if (now == 0) return fmt::format("device {}: there is no network interface {} any more", device_, interface_);
    if (now != index_)
      return fmt::format("device {}: the network interface {} was deleted and made anew", device_, interface_);
    if (!has_flag(interface_, IFF_UP))
      return fmt::format("device {}: the network interface {} was set down", device_, interface_);
  }
  if (id_ && ::rte_eth_dev_is_removed(*id_) != 0) return fmt::format("device {} was removed", device_);
  return {};
}

// A driver on top of an interface may say that its link is up whatever the interface has.
std::string DevicePresence::trouble() const {
  if (std::string gone = absence(); !gone.empty()) return gone;
  if (index_ != 0) {
    if (has_flag(interface_, IFF_RUNNING)) return {};
    return fmt::format("device {}: the link of the network interface {} is down", device_, interface_);
  }
  rte_eth_link link;
  if (!id_ || ::rte_eth_link_get_nowait(*id_, &link) != 0 || link.link_status == RTE_ETH_LINK_UP) return {};
  return fmt::format("device {}: its link is down", device_);
}

}  // namespace rankwire
