#include "dataplane/dpdk/vdev.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_ether.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

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

constexpr uint32_t kPage = 4096;  // of x86-64

/// The value of a key that is a number; 0 when it is none.
uint32_t number(const std::string& device, const std::string& key) {
  return static_cast<uint32_t>(std::strtoul(vdev_value(device, key).c_str(), nullptr, 10));
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

std::string vdev_string(const std::string& device, uint32_t mtu, uint16_t queues) {
  if (!is_packet_socket(device)) return device;
  std::string complete = device;
  const auto provide = [&](const char* key, uint32_t value) {
    if (vdev_value(complete, key).empty()) complete += fmt::format(",{}={}", key, value);
  };
  provide("framesz", frame_capacity(mtu));
  const uint32_t frame = number(complete, "framesz");
  provide("blocksz", std::lcm(std::max(frame, 1u), kPage));
  provide("framecnt", 1024);
  if (queues > 1) provide("qpairs", queues);
  return complete;
}

Bytes packet_socket_memory(const std::string& device) {
  const int64_t ring = int64_t{number(device, "framesz")} * number(device, "framecnt");
  return Bytes(2 * ring * std::max(1u, number(device, "qpairs")));
}

std::string packet_socket_advice(const std::string& device, const std::string& log) {
  if (vdev_value(device, "iface").empty()) return {};
  rlimit limit{};
  const int64_t needed = packet_socket_memory(device).count;
  // The driver locks its rings, which only CAP_IPC_LOCK may do beyond the limit.
  if (log.find("mmap") != std::string::npos && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
      limit.rlim_cur < static_cast<rlim_t>(needed)) {
    return fmt::format(
        " (its rings lock {} KiB of memory and RLIMIT_MEMLOCK allows {}: raise it with ulimit -l, grant CAP_IPC_LOCK, "
        "or give the device a smaller framecnt)",
        needed / 1024, limit.rlim_cur / 1024);
  }
  return " (raw sockets need root or CAP_NET_RAW)";
}

void check_packet_socket(const std::string& device, uint32_t mtu) {
  const std::string interface = vdev_value(device, "iface");
  if (const int limit = interface_mtu(interface); limit < static_cast<int>(mtu)) {
    fail_input("device {}: interface {} carries IP packets of {} bytes, not {}: ip link set {} mtu {}", device,
               interface, limit, mtu, interface, mtu);
  }
  // The kernel puts the Ethernet header at byte 66 of a ring's frame (TPACKET_V2).
  const uint32_t frame = number(device, "framesz"), block = number(device, "blocksz");
  const uint32_t needed = mtu + RTE_ETHER_HDR_LEN + 66;
  if (frame < needed) fail_input("device {}: IP packets of {} bytes need framesz={} or more", device, mtu, needed);
  if (block == 0 || block % frame != 0 || block % kPage != 0) {
    fail_input("device {}: blocksz must be a multiple of framesz {} and of {}, such as {}", device, frame, kPage,
               std::lcm(frame, kPage));
  }
  if (const uint32_t frames = number(device, "framecnt"); frames == 0 || frames % (block / frame) != 0) {
    fail_input("device {}: framecnt must be a multiple of the {} frames of a block", device, block / frame);
  }
}

}  // namespace rankwire
