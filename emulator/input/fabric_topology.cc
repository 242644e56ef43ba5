#include "emulator/input/fabric_topology.h"

#include <algorithm>

#include "base/error.h"

namespace rankwire {
namespace {

SwitchId switch_named(const Topology& topology, const std::string& name) {
  const auto found = std::ranges::find(topology.switches, name);
  if (found == topology.switches.end()) fail_input("'{}' is not the name of a switch", name);
  return SwitchId(static_cast<uint32_t>(found - topology.switches.begin()));
}

Topology graph(const RunConfig& config, const Line& cable, const std::vector<Line>& lines) {
  const FabricConfig& fabric = *config.fabric;
  Topology topology;
  topology.switches = fabric.switches;
  for (const GraphLinkConfig& link : fabric.links) {
    topology.cables.push_back({switch_named(topology, link.a), switch_named(topology, link.b), cable});
  }
  for (const GraphHostConfig& host : fabric.hosts) {
    if (std::ranges::find(config.ports, host.port, &PortConfig::name) == config.ports.end()) {
      fail_input("'{}' is not the name of a port", host.port);
    }
  }
  for (size_t p = 0; p < lines.size(); ++p) {
    const std::string& name = config.ports[p].name;
    const auto places = std::ranges::count(fabric.hosts, name, &GraphHostConfig::port);
    if (places != 1) fail_input("port '{}' stands {} times in 'hosts', not once", name, places);
    const auto place = std::ranges::find(fabric.hosts, name, &GraphHostConfig::port);
    topology.hosts.push_back({switch_named(topology, place->at), lines[p]});
  }
  return topology;
}

}  // namespace

Topology fabric_topology(const RunConfig& config) {
  const FabricConfig& fabric = *config.fabric;
  std::vector<Line> lines;
  Bandwidth fastest;
  for (const PortConfig& port : config.ports) {
    lines.push_back({port.rate, config.embedded_switch.link_latency});
    fastest = std::max(fastest, port.rate);
  }
  const Line cable{fabric.link_rate.value_or(fastest),
                   fabric.link_latency.value_or(config.embedded_switch.link_latency)};
  Topology topology;
  switch (fabric.topology) {
    case TopologyName::kStar:
      topology = star(lines);
      break;
    case TopologyName::kLeafSpine:
      topology = leaf_spine(
          {.leaves = fabric.leaves, .spines = fabric.spines, .parallel = fabric.parallel, .uplink = cable}, lines);
      break;
    case TopologyName::kFatTree:
      topology = fat_tree({.k = fabric.k, .uplink = cable}, lines);
      break;
    case TopologyName::kRail:
      topology = rail_optimised(
          {.rails = fabric.rails, .hosts_per_group = fabric.group, .spines = fabric.spines, .uplink = cable}, lines);
      break;
    case TopologyName::kGraph:
      topology = graph(config, cable, lines);
      break;
  }
  check(topology);
  return topology;
}

uint32_t failing_cable(const Topology& topology, const FabricFailureConfig& failure) {
  const SwitchId a = switch_named(topology, failure.a), b = switch_named(topology, failure.b);
  uint32_t before = 0;
  for (uint32_t c = 0; c < topology.cables.size(); ++c) {
    const Cable& cable = topology.cables[c];
    const bool between = (cable.a == a && cable.b == b) || (cable.a == b && cable.b == a);
    if (between && before++ == failure.cable) return c;
  }
  fail_input("'{}' and '{}' are joined by {} cables, and there is no cable {}", failure.a, failure.b, before,
             failure.cable);
}

}  // namespace rankwire
