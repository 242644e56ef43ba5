#include "dataplane/dpdk/device.h"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/pci_address.h"
#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/vdev.h"

namespace rankwire {

namespace {

/// Where vhost-user's back ends connect to the device; empty where it is no server.
std::string server_path(uint16_t id, const std::string& name) {
  rte_eth_dev_info info{};
  if (::rte_eth_dev_info_get(id, &info) != 0 || info.device == nullptr) return {};
  const rte_devargs* const arguments = ::rte_dev_devargs(info.device);
  if (arguments == nullptr || arguments->args == nullptr) return {};
  const std::string device = name + "," + arguments->args;
  return vdev_value(device, "server") == "1" ? vdev_value(device, "path") : std::string();
}

}  // namespace

DpdkDevice::~DpdkDevice() {
  char name[RTE_ETH_NAME_MAX_LEN] = "";
  ::rte_eth_dev_get_name_by_port(id_, name);
  ::rte_eth_dev_stop(id_);
  if (const std::string path = server_path(id_, name); !path.empty()) {
    // To close it is a race with DPDK's interrupt thread, which then finds a closed descriptor among its own and ends
    // the program. So it stays open until the program ends.
    ::unlink(path.c_str());
    return;
  }
  ::rte_eth_dev_close(id_);
  // Closing leaves a virtual device on its bus, and its name taken.
  if (!is_pci_address(name)) ::rte_eal_hotplug_remove("vdev", name);
}

rte_eth_conf receive_configuration(const rte_eth_dev_info& info, uint16_t queues) {
  rte_eth_conf configuration{};
  configuration.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  if (queues == 1) return configuration;
  constexpr uint64_t kUdp = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
  const uint64_t can = info.flow_type_rss_offloads;
  const uint64_t hash = (can & kUdp) != 0 ? can & kUdp : can & (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6);
  if (hash == 0) return configuration;
  configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  configuration.rx_adv_conf.rss_conf.rss_hf = hash;
  return configuration;
}

void drop_received(uint16_t id, uint16_t queues) {
  constexpr uint32_t kMost = 1 << 16;  // more than a socket's ring holds: frames may keep coming
  std::array<rte_mbuf*, 32> mbufs;
  for (uint16_t q = 0; q < queues; ++q)
    for (uint32_t dropped = 0; dropped < kMost;) {
      const uint16_t n = ::rte_eth_rx_burst(id, q, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
      if (n == 0) break;
      ::rte_pktmbuf_free_bulk(mbufs.data(), n);
      dropped += n;
    }
}

void wait_for_link(uint16_t id, const std::string& device, Duration deadline) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(deadline.ps / 1000);
  for (;;) {
    rte_eth_link link;
    if (::rte_eth_link_get_nowait(id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP) return;
    if (Clock::now() >= end) fail_run("device {}: its link is down; check the cable and the other end", device);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace rankwire
