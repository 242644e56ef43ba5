#include "emulator/input/fabric_topology.h"

#include <algorithm>

#include "base/error.h"
#include "emulator/input/fabric_astra.h"
#include "emulator/input/infragraph.h"
#include "fabric/dimensions.h"
#include "fabric/dragonfly.h"
#include "fabric/hierarchy.h"

namespace rankwire {
namespace {

SwitchId switch_named(const Topology& topology, const std::string& name) {
  const auto found = std::ranges::find(topology.switches, name);
  if (found == topology.switches.end()) fail_input("'{}' is not the name of a switch", name);
  return SwitchId(static_cast<uint32_t>(found - topology.switches.begin()));
}

uint32_t cable_between(const Topology& topology, const FabricFailureConfig& failure) {
  const SwitchId a = switch_named(topology, failure.a), b = switch_named(topology, *failure.b);
  uint32_t before = 0;
  for (uint32_t c = 0; c < topology.cables.size(); ++c) {
    const Cable& cable = topology.cables[c];
    const bool between = (cable.a == a && cable.b == b) || (cable.a == b && cable.b == a);
    if (between && before++ == failure.cable) return c;
  }
  fail_input("'{}' and '{}' are joined by {} cables, and there is no cable {}", failure.a, *failure.b, before,
             failure.cable);
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

Bandwidth fastest_port(const RunConfig& config) {
  return std::ranges::max(config.ports, {}, &PortConfig::rate).rate;
}

/// A part of an amount of lines with this rate, whole bits a second.
Bandwidth over(Bandwidth rate, __int128 times, Scale ratio, __int128 lines) {
  const __int128 share = rate.bits_per_second * times * ratio.denominator / (lines * ratio.numerator);
  return Bandwidth(static_cast<int64_t>(std::max<__int128>(share, 1)));
}

/// Of a cable above the lowest switches, below which there are so many ports and above which so many cables.
Bandwidth uplink_rate(const RunConfig& config, uint64_t ports, uint64_t cables) {
  const FabricConfig& fabric = *config.fabric;
  if (!fabric.oversubscription) return fabric.link_rate.value_or(fastest_port(config));
  return over(fastest_port(config), ports, *fabric.oversubscription, cables);
}

/// The network of routers that each belong to one NPU. A rate of 0 stands for an equal part of the port's.
std::vector<Dimension> shape_of(const RunConfig& config, Line cable) {
  const FabricConfig& fabric = *config.fabric;
  const auto npus = static_cast<uint32_t>(config.ports.size());
  const DimensionKind ring = fabric.wrap ? DimensionKind::kRing : DimensionKind::kLine;
  std::vector<Dimension> shape;
  if (fabric.topology == TopologyName::kAstraNetwork) return read_astra_network(fabric.astra_network);
  if (fabric.topology == TopologyName::kRing) shape = {{ring, npus, cable}};
  if (fabric.topology == TopologyName::kFullyConnected) shape = {{DimensionKind::kFullyConnected, npus, cable}};
  for (const uint32_t extent : fabric.extents) shape.push_back({ring, extent, cable});
  if (fabric.link_rate) return shape;
  const Scale part{std::max<int64_t>(most_cables(shape), 1), 1};
  for (Dimension& dimension : shape) dimension.line.rate = over(fastest_port(config), 1, part, 1);
  return shape;
}

std::vector<HierarchyLevel> levels_of(const RunConfig& config, Line cable) {
  std::vector<HierarchyLevel> levels;
  for (const LevelConfig& level : config.fabric->levels) {
    HierarchyLevel& made = levels.emplace_back(HierarchyLevel{.name = level.name,
                                                              .count = level.count,
                                                              .switches = level.switches,
                                                              .cables = level.cables,
                                                              .from_npus = level.from_npus,
                                                              .line = {}});
    made.line.latency = level.latency.value_or(cable.latency);
    made.line.rate = level.rate.value_or(fastest_port(config));
    if (level.name.empty()) fail_input("level {} needs a name", levels.size() - 1);
    if (!level.oversubscription) continue;
    if (level.rate || level.from_npus || levels.size() == 1) {
      fail_input("the oversubscription of level '{}' is that of cables from switches below, instead of their rate",
                 level.name);
    }
    const HierarchyLevel& below = levels[levels.size() - 2];
    made.line.rate = over(below.line.rate, uint64_t{below.count} * below.cables, *level.oversubscription,
                          uint64_t{level.switches} * level.cables);
  }
  return levels;
}

Topology infragraph(const RunConfig& config, const Line& cable) {
  const std::string& file = config.fabric->infragraph;
  Topology topology = infragraph_topology(expand(read_infrastructure(file)), cable);
  if (topology.hosts.size() != config.ports.size()) {
    fail_input("{}: has {} NPUs, not {}; every port is one", file, topology.hosts.size(), config.ports.size());
  }
  return topology;
}

/// The attachments are those of ports that decide about themselves; `dictated` says that the fabric does.
struct Plan {
  Topology topology;
  bool own_routers = false;  ///< of the ports: attachments are inside the NPU
  bool dictated = false;     ///< the fabric has rates of its own for the ports
};

Plan plan_of(const RunConfig& config) {
  const FabricConfig& fabric = *config.fabric;
  const Duration latency = config.embedded_switch.link_latency;
  std::vector<Line> lines, inside;
  for (const PortConfig& port : config.ports) {
    lines.push_back({port.rate, latency});
    inside.push_back({port.rate, Duration()});
  }
  const Line cable{fabric.link_rate.value_or(fastest_port(config)), fabric.link_latency.value_or(latency)};
  switch (fabric.topology) {
    case TopologyName::kStar:
      return {star(lines)};
    case TopologyName::kLeafSpine: {
      const uint64_t block = (lines.size() + fabric.leaves - 1) / fabric.leaves;
      const Bandwidth rate = uplink_rate(config, block, uint64_t{fabric.spines} * fabric.parallel);
      return {leaf_spine({fabric.leaves, fabric.spines, fabric.parallel, {rate, cable.latency}}, lines)};
    }
    case TopologyName::kFatTree:
      return {fat_tree({fabric.k, {uplink_rate(config, 1, 1), cable.latency}}, lines)};
    case TopologyName::kRail:
      return {rail_optimised({fabric.rails, fabric.group, fabric.spines, cable}, lines)};
    case TopologyName::kRing:
    case TopologyName::kTorus2d:
    case TopologyName::kTorus3d:
    case TopologyName::kFullyConnected:
    case TopologyName::kAstraNetwork:
      return {dimensions(shape_of(config, cable), inside, fabric.routing == RoutingName::kDimensionOrder), true,
              fabric.link_rate || fabric.topology == TopologyName::kAstraNetwork};
    case TopologyName::kDragonfly: {
      const Line global{fabric.global_rate.value_or(cable.rate), fabric.global_latency.value_or(cable.latency)};
      return {
          dragonfly({fabric.groups, fabric.routers, fabric.router_hosts, fabric.global_links, cable, global}, lines)};
    }
    case TopologyName::kHierarchy: {
      const std::vector<HierarchyLevel> levels = levels_of(config, cable);
      const bool routers = has_npu_routers(levels);
      const bool dictated = std::ranges::any_of(fabric.levels, [&](const LevelConfig& level) {
        return level.rate && (&level == &fabric.levels.front() || level.from_npus);
      });
      if (!routers && !levels.empty()) lines.assign(lines.size(), levels.front().line);
      return {hierarchy(levels, routers ? inside : lines), routers, dictated};
    }
    case TopologyName::kGraph:
      return {graph(config, cable, lines)};
    case TopologyName::kInfragraph:
      return {infragraph(config, cable), true, true};
  }
  fail_input("there is no such topology");
}

}  // namespace

Topology fabric_topology(const RunConfig& config) {
  Plan plan = plan_of(config);
  for (size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    Bandwidth& rate = plan.topology.hosts[p].line.rate;
    if (plan.dictated && !plan.own_routers && port.rate > rate) {
      fail_input("port '{}' of {} bit/s is faster than its cable of {} bit/s", port.name, port.rate.bits_per_second,
                 rate.bits_per_second);
    }
    rate = port.rate;
  }
  check(plan.topology);
  return std::move(plan.topology);
}

std::vector<Bandwidth> fabric_port_rates(const RunConfig& config) {
  const Plan plan = plan_of(config);
  std::vector<Bandwidth> rates;
  for (uint32_t h = 0; plan.dictated && h < plan.topology.hosts.size(); ++h) {
    rates.push_back(plan.own_routers ? cable_rate_at(plan.topology, h) : plan.topology.hosts[h].line.rate);
  }
  return rates;
}

std::vector<uint32_t> failing_cables(const RunConfig& config, const Topology& topology,
                                     const FabricFailureConfig& failure) {
  const auto cables = static_cast<uint32_t>(topology.cables.size());
  if (failure.b) return {cable_between(topology, failure)};
  if (const auto port = std::ranges::find(config.ports, failure.a, &PortConfig::name); port != config.ports.end())
    return {cables + static_cast<uint32_t>(port - config.ports.begin())};
  if (std::ranges::find(topology.switches, failure.a) == topology.switches.end())
    fail_input("'{}' is the name of neither a port nor a switch", failure.a);
  const SwitchId at = switch_named(topology, failure.a);
  std::vector<uint32_t> all;
  for (uint32_t c = 0; c < cables; ++c)
    if (topology.cables[c].a == at || topology.cables[c].b == at) all.push_back(c);
  for (uint32_t h = 0; h < topology.hosts.size(); ++h)
    if (topology.hosts[h].at == at) all.push_back(cables + h);
  return all;
}

}  // namespace rankwire
