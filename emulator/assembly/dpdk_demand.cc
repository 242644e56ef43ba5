#include "emulator/assembly/dpdk_demand.h"

#include <algorithm>

#include "dataplane/dpdk/demand.h"
#include "dataplane/dpdk/vdev.h"

namespace rankwire {
namespace {

constexpr uint32_t kFramesBeside = 2048;  // a port's frames on the way and acknowledgements
constexpr int64_t kBeside = 8 << 20;      // of the environment itself and its drivers
constexpr int64_t kMebibyte = 1 << 20;

DpdkOptions options_of(const RunConfig& config) {
  return {.memory = config.dpdk.memory, .devices = {}, .extra = config.dpdk.eal_arguments};
}

void require_devices(const Setup& setup) {
  const RunConfig& config = setup.config;
  const uint32_t devices = dpdk_devices(setup), most = most_dpdk_devices();
  if (devices <= most) return;
  if (config.ports.front().device == "ring") {
    fail_key(config.places, "ports",
             "{} ring ports are {} devices of DPDK, which has room for {}: at most {} ports, or 'device: memory', of "
             "which there may be any number",
             config.ports.size(), devices, most, most / 2);
  }
  fail_key(config.places, "ports",
           "{} DPDK devices, but DPDK has room for {}: leave some out, or give one several ranks", devices, most);
}

void require_names(const RunConfig& config) {
  for (size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    if (port.device != "ring" || port.is_rdma_device() || port.name.size() <= longest_ring_link_name()) continue;
    fail_key(
        config.places, fmt::format("ports[{}].name", p),
        "'{}' has {} characters, but the name of a ring port in DPDK {} at most: take a shorter one, such as '{}', "
        "or 'device: memory'",
        port.name, port.name.size(), longest_ring_link_name(), port.name.substr(0, longest_ring_link_name()));
  }
}

}  // namespace

uint32_t frames_of_port(const Setup& setup, PortId port) {
  uint64_t queue_pairs = 0;
  for (const Connection& c : setup.plan.transport.connections) {
    queue_pairs += c.path == Path::kWire && !c.control && setup.placement.nics[c.source_nic.value].port == port;
  }
  const uint64_t windows = queue_pairs * setup.config.transport.queue_pairs * *setup.config.transport.window;
  const uint64_t buffer =
      static_cast<uint64_t>(setup.config.embedded_switch.buffer.count) / *setup.config.transport.mtu;
  return static_cast<uint32_t>(std::min(windows, std::max<uint64_t>(buffer, kFramesBeside)) + kFramesBeside);
}

uint64_t frames_of_ports(const Setup& setup) {
  uint64_t frames = 0;
  for (uint32_t p = 0; p < setup.config.ports.size(); ++p) frames += frames_of_port(setup, PortId(p));
  return frames;
}

uint32_t header_bytes(const RunConfig& config) {
  // Most of IPv4 20 or IPv6 40, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4.
  return config.addresses.ip.first.is_ipv4() ? 64 : 84;
}

uint32_t dpdk_devices(const Setup& setup) {
  uint32_t devices = 0;
  for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
    if (!setup.is_here(PortId(p))) continue;
    const PortConfig& port = setup.config.ports[p];
    if (port.device == "ring") devices += 2;
    if (!port.embedded() && !port.is_rdma_device()) ++devices;
  }
  return devices;
}

Bytes dpdk_memory(const Setup& setup) {
  const RunConfig& config = setup.config;
  Bytes memory;
  for (uint32_t p = 0; p < config.ports.size(); ++p) {
    if (!setup.is_here(PortId(p))) continue;
    const PortConfig& port = config.ports[p];
    if (port.device == "ring") {
      memory += ring_link_memory({.queue_frames = kQueueFrames, .frames = frames_of_port(setup, PortId(p))});
    } else if (!port.embedded() && !port.is_rdma_device()) {
      // Where RDMA devices say the path MTU, it is known when they are open only.
      const uint32_t mtu = config.transport.mtu.value_or(kLargestPathMtu);
      memory += dpdk_queues_memory(
          {.mtu = mtu + header_bytes(config), .frames = frames_of_port(setup, PortId(p)), .queues = port.queues});
    }
  }
  return memory;
}

void require_room_in_dpdk(const Setup& setup) {
  const RunConfig& config = setup.config;
  if (dpdk_devices(setup) == 0) return;
  require_devices(setup);
  require_names(config);
  const std::optional<Bytes> limit = dpdk_memory_limit(options_of(config));
  const Bytes memory = dpdk_memory(setup);
  const auto last = PortId(static_cast<uint32_t>(config.ports.size() - 1));
  if (!limit || memory - frame_pool_slack(frames_of_port(setup, last), kSmallestCapacity) <= *limit) return;
  fail_key(config.places, "dpdk.memory",
           "{} MiB are too little for the frames of the ports, {} MiB: raise it to {}MiB, or lower transport.window or "
           "switch.buffer, or take fewer ports",
           limit->count / kMebibyte, (memory.count + kMebibyte - 1) / kMebibyte,
           (memory.count + kBeside + kMebibyte - 1) / kMebibyte);
}

}  // namespace rankwire
