#include "emulator/assembly/dpdk_demand.h"

#include <algorithm>

#include "base/affinity.h"
#include "dataplane/dpdk/demand.h"
#include "dataplane/dpdk/vdev.h"
#include "emulator/assembly/workers.h"

namespace rankwire {
namespace {

constexpr uint32_t kFramesBeside = 2048;  // a port's frames on the way and acknowledgements
constexpr int64_t kBeside = 8 << 20;      // of the environment itself and its drivers
constexpr int64_t kMebibyte = 1 << 20;

/// Whether the port is of the machine, as Setup::machine has it.
bool is_on(const PortConfig& port, const std::string& machine) {
  return machine.empty() || port.on == machine;
}

/// Whether it is a device that DPDK opens.
bool is_dpdk_device(const PortConfig& port) {
  return !port.embedded() && !port.is_rdma_device() && !port.modelled;
}

/// Of the embedded switch: each ring port has a link to each.
uint32_t shards(const RunConfig& config) {
  return switch_shards(config, worker_threads(config, one_of_each_core(allowed_cpus())).count);
}

void require_devices(const Setup& setup) {
  const RunConfig& config = setup.config;
  const uint32_t devices = dpdk_devices(config, setup.machine), most = most_dpdk_devices();
  if (devices <= most) return;
  if (config.ports.front().device == "ring") {
    fail_key(config.places, "ports",
             "{} ring ports are {} devices of DPDK, which has room for {}: at most {} ports{}, or 'device: memory', of "
             "which there may be any number",
             config.ports.size(), devices, most, most / (2 * shards(config)),
             shards(config) > 1 ? fmt::format(" on a switch of {} shards", shards(config)) : "");
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

/// Enough for any windows.
uint32_t most_frames_of_port(const Setup& setup) {
  const uint64_t buffer =
      static_cast<uint64_t>(setup.config.embedded_switch.buffer.count) / *setup.config.transport.mtu;
  return static_cast<uint32_t>(std::max<uint64_t>(buffer, kFramesBeside) + kFramesBeside);
}

/// Of the pools of all devices with as many frames, or more where a port needs more, and of what is beside them.
Bytes device_memory(const Setup& setup, uint32_t frames) {
  Bytes memory(kBeside);
  for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
    const PortConfig& port = setup.config.ports[p];
    if (port.embedded() || port.is_rdma_device() || !setup.is_here(PortId(p))) continue;
    memory += dpdk_queues_memory({.mtu = *setup.config.transport.mtu + header_bytes(setup.config),
                                  .frames = std::max(frames, frames_of_port(setup, PortId(p))),
                                  .queues = port.queues});
  }
  return memory;
}

}  // namespace

uint32_t frames_of_port(const Setup& setup, PortId port) {
  uint64_t queue_pairs = 0;
  for (const Connection& c : setup.plan.transport.connections) {
    queue_pairs += c.path == Path::kWire && !c.control && setup.placement.nics[c.source_nic.value].port == port;
  }
  const uint64_t windows = queue_pairs * setup.config.transport.queue_pairs * *setup.config.transport.window;
  return static_cast<uint32_t>(std::min<uint64_t>(windows + kFramesBeside, most_frames_of_port(setup)));
}

uint32_t roomy_frames_of_port(const Setup& setup, PortId port) {
  const DpdkOptions options = dpdk_options(setup.config, setup.machine);
  uint32_t frames = options.extra.empty() ? most_frames_of_port(setup) : 0;  // which may say how much memory there is
  while (frames > kFramesBeside && device_memory(setup, frames) > options.memory) frames /= 2;
  return std::max(frames, frames_of_port(setup, port));
}

DpdkOptions dpdk_options(const RunConfig& config, const std::string& machine) {
  DpdkOptions options{.memory = config.dpdk.memory, .extra = config.dpdk.eal_arguments, .keeps_devices = true};
  for (const PortConfig& port : config.ports) {
    if (is_on(port, machine) && is_dpdk_device(port)) options.devices.push_back(port.device);
  }
  return options;
}

uint64_t frames_of_ports(const Setup& setup) {
  uint64_t frames = 0;
  for (uint32_t p = 0; p < setup.config.ports.size(); ++p)
    if (!setup.config.ports[p].modelled) frames += frames_of_port(setup, PortId(p));
  return frames;
}

uint32_t header_bytes(const RunConfig& config) {
  // Most of IPv4 20 or IPv6 40, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4.
  return config.addresses.ip.first.is_ipv4() ? 64 : 84;
}

uint32_t dpdk_devices(const RunConfig& config, const std::string& machine) {
  uint32_t devices = 0;
  for (const PortConfig& port : config.ports) {
    if (!is_on(port, machine)) continue;
    if (port.device == "ring") devices += 2 * shards(config);
    if (is_dpdk_device(port)) ++devices;
  }
  return devices;
}

Bytes dpdk_memory(const Setup& setup) {
  const RunConfig& config = setup.config;
  Bytes memory;
  for (uint32_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    if (!is_on(port, setup.machine)) continue;
    if (port.device == "ring") {
      memory += ring_link_memory({.queue_frames = kQueueFrames, .frames = frames_of_port(setup, PortId(p))});
      for (uint32_t other = 1; other < shards(config); ++other)
        memory += ring_link_memory({.queue_frames = kQueueFrames, .frames = kFramesOfOtherLinks});
    } else if (is_dpdk_device(port)) {
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
  if (dpdk_devices(config, setup.machine) == 0) return;
  require_devices(setup);
  require_names(config);
  const std::optional<Bytes> limit = dpdk_memory_limit(dpdk_options(config, setup.machine));
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
