#include "dataplane/dpdk/opening.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/pci_address.h"
#include "dataplane/dpdk/device.h"
#include "dataplane/dpdk/mbuf.h"
#include "dataplane/dpdk/steering.h"
#include "dataplane/dpdk/vdev.h"

namespace rankwire {
namespace {

uint16_t probe(const DpdkEnvironment& environment, const std::string& device, const DpdkPortOptions& options) {
  uint16_t id = 0;
  const bool pci = is_pci_address(device);
  const bool short_address = pci && std::count(device.begin(), device.end(), ':') == 1;
  const std::string name = short_address ? "0000:" + device : vdev_name(device);
  if (::rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) {
    if (!pci) fail_input("device {} is used twice: give each its own name, such as {}1", name, name);
    return id;
  }
  // One that a port of this process has closed is still taken: given back and probed again, as a device that is plugged
  // in.
  if (pci && ::rte_eal_hotplug_remove("pci", name.c_str()) == 0 &&
      ::rte_eal_hotplug_add("pci", name.c_str(), "") == 0 && ::rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) {
    return id;
  }
  if (pci) fail_run("no DPDK driver took PCI device {}: {}", device, environment.log_tail());
  const std::string interface = vdev_value(device, "iface");
  if (!interface.empty() && ::if_nametoindex(interface.c_str()) == 0) {
    fail_input("device {}: there is no network interface {}", device, interface);
  }
  const std::string created = vdev_string(device, options.mtu, options.queues);
  if (is_packet_socket(device)) check_packet_socket(created, options.mtu);
  if (::rte_dev_probe(created.c_str()) != 0 || ::rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    const std::string log = environment.log_tail();
    fail_input("device {} cannot be created{}: {}", device, packet_socket_advice(created, log), log);
  }
  return id;
}

void check(int result, const DpdkEnvironment& environment, const std::string& device, const char* what) {
  if (result >= 0) return;
  const char* const need = result == -EPERM ? "; a network interface takes root or CAP_NET_ADMIN" : "";
  fail_run("device {}: {} failed ({}{}): {}", device, what, ::rte_strerror(-result), need, environment.log_tail());
}

void set_mtu(uint16_t id, const rte_eth_dev_info& info, const DpdkEnvironment& environment, const std::string& device,
             uint32_t mtu) {
  if (info.max_mtu != 0 && mtu > info.max_mtu) {
    fail_input("device {} carries IP packets of at most {} bytes, not {}: lower transport.mtu", device, info.max_mtu,
               mtu);
  }
  const int result = ::rte_eth_dev_set_mtu(id, static_cast<uint16_t>(mtu));
  // A device without the notion of an MTU, such as net_ring, carries what a buffer holds.
  if (result == 0 || result == -ENOTSUP) return;
  fail_input("device {} cannot carry IP packets of {} bytes ({}): raise its MTU or lower transport.mtu: {}", device,
             mtu, ::rte_strerror(-result), environment.log_tail());
}

std::shared_ptr<OpenDpdkDevice> open_anew(DpdkEnvironment& environment, const std::string& device,
                                          const DpdkPortOptions& options) {
  auto opened = std::make_shared<OpenDpdkDevice>(probe(environment, device, options));
  opened->options = options;
  opened->capacity = frame_capacity(options.mtu);
  const int socket = ::rte_eth_dev_socket_id(opened->device.id());
  for (uint16_t q = 0; q < options.queues; ++q) {
    opened->received.push_back(
        make_frame_pool(environment, options.descriptors + kReceivedFrames, opened->capacity, socket));
  }
  start_device(opened->device.id(), opened->received, environment, device, options);
  // Frames to send never come from a pool that the device writes to: what stands in them stays.
  for (uint16_t q = 0; q < options.queues; ++q)
    opened->sent.push_back(make_frame_pool(environment, options.frames, opened->capacity, socket));
  return opened;
}

/// One that was kept and serves, as if it had been opened now; null: there is none.
std::shared_ptr<OpenDpdkDevice> take_up(DpdkEnvironment& environment, const std::string& device,
                                        const DpdkPortOptions& options) {
  std::shared_ptr<OpenDpdkDevice> kept = environment.kept(device);
  if (kept == nullptr) return nullptr;
  if (is_used(kept)) fail_input("device {} is used twice: give each its own name", device);
  if (!serves(*kept, options)) {
    kept.reset();
    environment.forget(device);
    return nullptr;
  }
  drop_received(kept->device.id(), options.queues);
  return kept;
}

}  // namespace

rte_mempool* make_frame_pool(DpdkEnvironment& environment, uint32_t frames, uint32_t capacity, int socket) {
  const std::string name = fmt::format("rankwire_frames_{}", environment.unique());
  // A per-thread cache may hold 1.5 times its size of idle frames; two threads must not hold a small pool between them.
  const uint32_t cache = std::min<uint32_t>(RTE_MEMPOOL_CACHE_MAX_SIZE / 2, frames / 8);
  rte_mempool* pool = ::rte_pktmbuf_pool_create(name.c_str(), frames, cache, 0,
                                                static_cast<uint16_t>(capacity + RTE_PKTMBUF_HEADROOM), socket);
  if (pool == nullptr) {
    fail_run("no memory for {} frames of {} bytes ({}): raise dpdk.memory", frames, capacity,
             ::rte_strerror(rte_errno));
  }
  environment.keep(pool);
  return pool;
}

void start_device(uint16_t id, std::span<rte_mempool* const> pools, const DpdkEnvironment& environment,
                  const std::string& device, const DpdkPortOptions& options) {
  rte_eth_dev_info info;
  check(::rte_eth_dev_info_get(id, &info), environment, device, "reading its capabilities");
  const auto queues = static_cast<uint16_t>(pools.size());
  if (info.max_rx_queues < queues || info.max_tx_queues < queues) {
    fail_input("device {} has {} receive and {} transmit queues, not {} of each", device, info.max_rx_queues,
               info.max_tx_queues, queues);
  }
  // What no rule steers goes to the first queue only where no hash spreads it.
  const rte_eth_conf configuration = receive_configuration(info, options.steered.empty() ? queues : 1);
  check(::rte_eth_dev_configure(id, queues, queues, &configuration), environment, device, "configuring it");
  if (!is_packet_socket(device)) set_mtu(id, info, environment, device, options.mtu);
  auto receive = static_cast<uint16_t>(options.descriptors), transmit = receive;
  check(::rte_eth_dev_adjust_nb_rx_tx_desc(id, &receive, &transmit), environment, device, "sizing its queues");
  const auto socket = static_cast<unsigned>(::rte_eth_dev_socket_id(id));
  for (uint16_t q = 0; q < queues; ++q) {
    check(::rte_eth_rx_queue_setup(id, q, receive, socket, nullptr, pools[q]), environment, device, "a receive queue");
    check(::rte_eth_tx_queue_setup(id, q, transmit, socket, nullptr), environment, device, "a transmit queue");
  }
  check(::rte_eth_dev_start(id), environment, device, "starting it");
  if (const int result = ::rte_eth_promiscuous_enable(id); result != -ENOTSUP) {
    check(result, environment, device, "promiscuous mode");
  }
  steer_frames(id, device, options.steered);
  wait_for_link(id, device, options.link_deadline);
  if (is_packet_socket(device)) drop_received(id, queues);
}

std::shared_ptr<const OpenDpdkDevice> open_device(DpdkEnvironment& environment, const std::string& device,
                                                  const DpdkPortOptions& options) {
  if (std::shared_ptr<OpenDpdkDevice> kept = take_up(environment, device, options)) return kept;
  std::shared_ptr<OpenDpdkDevice> opened = open_anew(environment, device, options);
  if (environment.keeps_devices()) environment.keep(device, opened);
  return opened;
}

}  // namespace rankwire
