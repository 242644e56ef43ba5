#include "dataplane/switch/tables.h"

#include <algorithm>

#include "base/message.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

constexpr uint32_t kFlowlets = 4096;  // a switch, as in CONGA's 64 Ki for 64 k flows a leaf, scaled down

/// From when a port or a host begins to send until the switch at the other end has to do with it, at least: the
/// shortest that can be sent is as long as a pause, and a cut-through switch reads no less of a longer one.
Duration shortest_reach(const Topology& topology, std::span<const FabricSwitchOptions> devices) {
  Duration shortest = milliseconds(1);
  for (uint32_t p = 0; p < topology.ports(); ++p) {
    const Line& line = topology.line_of(p);
    const FabricSwitchOptions& device = devices[devices.size() == 1 ? 0 : topology.switch_of(p).value];
    shortest = std::min(shortest, line.latency + device.latency + LineTimes(line.rate).of(kPauseFrameBytes));
  }
  return shortest;
}

/// From when a switch begins to send to a host until that has received it, at least.
Duration shortest_reach_of_hosts(const Topology& topology) {
  Duration shortest = milliseconds(1);
  for (uint32_t h = 0; h < topology.hosts.size(); ++h) {
    const Line& line = topology.line_of(topology.host_port(h));
    shortest = std::min(shortest, line.latency + LineTimes(line.rate).of(kPauseFrameBytes));
  }
  return shortest;
}

Duration shortest_frame(const Topology& topology) {
  Duration shortest = milliseconds(1);
  for (uint32_t h = 0; h < topology.hosts.size(); ++h)
    shortest = std::min(shortest, LineTimes(topology.line_of(topology.host_port(h)).rate).of(kPauseFrameBytes));
  return shortest;
}

uint32_t number_of(const std::vector<FabricLine>& lines, const FabricLine& line) noexcept {
  const auto known = std::ranges::find_if(lines, [&](const FabricLine& other) { return line.is_like(other); });
  return static_cast<uint32_t>(known - lines.begin());
}

}  // namespace

FabricTables::FabricTables(const Topology& fabric, std::span<FramePort* const> host_ports,
                           std::span<const FabricSwitchOptions> devices, const FabricOptions& options)
    : topology(fabric),
      first_host_port(topology.host_port(0)),
      port_count(topology.ports()),
      reach(shortest_reach(topology, devices)),
      reach_of_hosts(shortest_reach_of_hosts(topology)),
      shortest_frame_of_hosts(shortest_frame(topology)),
      ingresses(size_t{port_count} * kPriorities),
      egresses(ingresses.size()),
      details(port_count),
      packets(options.frames) {
  switches.reserve(topology.switches.size());
  for (uint32_t s = 0; s < topology.switches.size(); ++s) {
    const uint64_t seed = mix64(options.seed + s * 0x9E3779B97F4A7C15u);
    FabricSwitch& device = switches.emplace_back(devices[devices.size() == 1 ? 0 : s], seed,
                                                 switch_hash_seed(options.seed, s, options.balancing.seed_per_switch));
    if (options.balancing.spreading == Spreading::kFlowlet) device.flowlets.resize(kFlowlets);
    if (options.series) device.plain = false;
  }
  ports.reserve(port_count);
  for (uint32_t p = 0; p < port_count; ++p) {
    const uint32_t device = topology.switch_of(p).value;
    if (is_host_port(p)) hosts.push_back({.port = host_ports[hosts.size()], .line = {}});
    ports.emplace_back(device, know(line_in(p, kWholeCable)), is_host_port(p));
    switches[device].ports.push_back(p);
  }
  const auto cables = static_cast<uint32_t>(topology.cables.size());
  for (const CableEvent& event : options.schedule) {
    if (event.cable >= cables) {
      know(line_in(first_host_port + event.cable - cables, event.condition));
    } else {
      for (const uint32_t p : {2 * event.cable, 2 * event.cable + 1}) know(line_in(p, event.condition));
    }
  }
}

FabricLine FabricTables::line_in(uint32_t port, const CableCondition& condition) const noexcept {
  const Line& cable = topology.line_of(port);
  const Bandwidth rate = condition.rate ? std::min(*condition.rate, cable.rate) : cable.rate;
  FabricLine line{LineTimes(rate), cable.latency + condition.latency, Duration(), false,
                  is_host_port(port) && rate < cable.rate};
  if (is_host_port(port)) return line;
  const FabricSwitchOptions& next = switches[topology.switch_of(port ^ 1).value].options;
  line.next_latency = next.latency;
  line.next_cuts_through = next.forwarding == Forwarding::kCutThrough;
  return line;
}

/// The number of a line that is like it, which there is from now on.
uint32_t FabricTables::know(const FabricLine& line) {
  const uint32_t number = number_of(lines, line);
  if (number == lines.size()) lines.push_back(line);
  return number;
}

void FabricTables::put_in(uint32_t number, const CableCondition& condition) noexcept {
  FabricPort& port = ports[number];
  port.line = number_of(lines, line_in(number, condition));
  port.loses = condition.loss_ppm > 0;
  details[number].loss_ppm = condition.loss_ppm;
}

bool FabricTables::is_lost(uint32_t port) noexcept {
  return switch_of(port).random.chance(details[port].loss_ppm);
}

void FabricTables::release(uint32_t handle) noexcept {
  // Frames of one host's port are good for every other's.
  hosts.back().port->release({&packets.frame(handle), 1});
  packets.give_back(handle);
}

void FabricTables::drop(uint32_t handle, FabricDrop reason, uint32_t port) noexcept {
  release(handle);
  ++counters_of(port).drops[static_cast<size_t>(reason)];
}

}  // namespace rankwire
