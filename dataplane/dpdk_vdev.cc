#include "dataplane/dpdk_vdev.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_ether.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace rankwire {
namespace {

int interface_mtu(const std::string& interface) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const int result = ::ioctl(socket, SIOCGIFMTU, &request);
  ::close(socket);
  return result == 0 ? request.ifr_mtu : 0;
}

}  // namespace

uint32_t frame_capacity(uint32_t mtu) {
  const uint32_t needed = mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + 64;
  return std::max(kSmallestCapacity, (needed + 255) / 256 * 256);
}

std::string vdev_name(const std::string& device) {
  return device.substr(0, device.find(','));
}

bool is_packet_socket(const std::string& device) {
  return device.starts_with("net_af_packet") || device.starts_with("eth_af_packet");
}

std::string vdev_value(const std::string& device, const std::string& key) {
  const size_t at = device.find("," + key + "=");
  if (at == std::string::npos) return {};
  const size_t begin = at + key.size() + 2;
  return device.substr(begin, device.find(',', begin) - begin);
}

std::string vdev_string(const std::string& device, uint32_t mtu) {
  if (!is_packet_socket(device) || !vdev_value(device, "framesz").empty()) return device;
  const uint32_t frame = frame_capacity(mtu);
  return fmt::format("{},framesz={},blocksz={},framecnt=1024", device, frame, 16 * frame);
}

void check_packet_socket(const std::string& device, uint32_t mtu) {
  const std::string interface = vdev_value(device, "iface");
  if (const int limit = interface_mtu(interface); limit < static_cast<int>(mtu)) {
    fail_input("device {}: interface {} carries IP packets of {} bytes, not {}: ip link set {} mtu {}", device,
               interface, limit, mtu, interface, mtu);
  }
  // The kernel puts the Ethernet header at byte 66 of a ring's frame (TPACKET_V2).
  const std::string ring_frame = vdev_value(device, "framesz");
  const uint32_t needed = mtu + RTE_ETHER_HDR_LEN + 66;
  if (!ring_frame.empty() && std::strtoul(ring_frame.c_str(), nullptr, 10) < needed) {
    fail_input("device {}: IP packets of {} bytes need framesz={} or more", device, mtu, needed);
  }
}

}  // namespace rankwire
