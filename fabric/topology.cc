#include "fabric/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace rankwire {
namespace {

void check_line(const Line& line, const std::string& what) {
  if (line.rate <= Bandwidth()) fail_input("the rate of {} must be positive", what);
  if (line.latency < Duration()) fail_input("the latency of {} is negative", what);
}

std::vector<std::vector<uint32_t>> neighbours_of(const Topology& topology) {
  std::vector<std::vector<uint32_t>> neighbours(topology.switches.size());
  for (const Cable& cable : topology.cables) {
    neighbours[cable.a.value].push_back(cable.b.value);
    neighbours[cable.b.value].push_back(cable.a.value);
  }
  return neighbours;
}

/// The switches that a walk from one comes to.
std::vector<bool> reached(const Topology& topology, const std::vector<std::vector<uint32_t>>& neighbours,
                          SwitchId from) {
  std::vector<bool> seen(topology.switches.size());
  std::vector<uint32_t> open{from.value};
  seen[from.value] = true;
  while (!open.empty()) {
    const SwitchId at(open.back());
    open.pop_back();
    if (at != from && !topology.is_transit(at)) continue;
    for (const uint32_t next : neighbours[at.value]) {
      if (!seen[next]) open.push_back(next);
      seen[next] = true;
    }
  }
  return seen;
}

/// Where every switch may be passed through, one host that reaches all says it of all.
void check_reach(const Topology& topology) {
  const std::vector<std::vector<uint32_t>> neighbours = neighbours_of(topology);
  const size_t sources = topology.no_transit.empty() ? 1 : topology.hosts.size();
  for (size_t from = 0; from < sources; ++from) {
    const std::vector<bool> seen = reached(topology, neighbours, topology.hosts[from].at);
    for (size_t to = 0; to < topology.hosts.size(); ++to) {
      const uint32_t at = topology.hosts[to].at.value;
      if (!seen[at]) fail_input("no cables lead from host {} to host {} behind '{}'", from, to, topology.switches[at]);
    }
  }
}

}  // namespace

SwitchId Topology::add_switch(std::string name) {
  switches.push_back(std::move(name));
  return SwitchId(static_cast<uint32_t>(switches.size() - 1));
}

SwitchId Topology::switch_of(uint32_t port) const {
  if (is_host_port(port)) return hosts[port - 2 * cables.size()].at;
  return port % 2 == 0 ? cables[port / 2].a : cables[port / 2].b;
}

const Line& Topology::line_of(uint32_t port) const {
  return is_host_port(port) ? hosts[port - 2 * cables.size()].line : cables[port / 2].line;
}

std::string Topology::port_name(uint32_t port, std::span<const std::string> host_names) const {
  const std::string& own = switches[switch_of(port).value];
  if (is_host_port(port)) return fmt::format("{}.{}", own, host_names[port - 2 * cables.size()]);
  const Cable& cable = cables[port / 2];
  const auto same = [&](const Cable& other) {
    return (other.a == cable.a && other.b == cable.b) || (other.a == cable.b && other.b == cable.a);
  };
  const auto place = cables.begin() + port / 2;
  const auto before = std::count_if(cables.begin(), place, same);
  const std::string& other = switches[switch_of(port ^ 1).value];
  if (before == 0 && std::none_of(place + 1, cables.end(), same)) return fmt::format("{}.{}", own, other);
  return fmt::format("{}.{}#{}", own, other, before);
}

void check(const Topology& topology) {
  if (topology.switches.empty()) fail_input("a fabric needs a switch");
  if (topology.hosts.empty()) fail_input("a fabric needs a host");
  const uint32_t switches = static_cast<uint32_t>(topology.switches.size());
  if (!topology.no_transit.empty() && topology.no_transit.size() != switches) {
    fail_input("{} of {} switches say whether paths lead through them", topology.no_transit.size(), switches);
  }
  std::set<std::string_view> names;
  for (const std::string& name : topology.switches) {
    if (!names.insert(name).second) fail_input("two switches are named '{}'", name);
  }
  for (size_t c = 0; c < topology.cables.size(); ++c) {
    const Cable& cable = topology.cables[c];
    if (cable.a.value >= switches || cable.b.value >= switches) fail_input("cable {} ends at no switch", c);
    if (cable.a == cable.b) fail_input("cable {} joins '{}' with itself", c, topology.switches[cable.a.value]);
    if (cable.cost == 0) fail_input("cable {} costs nothing", c);
    check_line(cable.line, fmt::format("cable {}", c));
  }
  for (size_t h = 0; h < topology.hosts.size(); ++h) {
    if (topology.hosts[h].at.value >= switches) fail_input("host {} is behind no switch", h);
    check_line(topology.hosts[h].line, fmt::format("the link of host {}", h));
  }
  check_reach(topology);
}

Topology star(std::span<const Line> hosts) {
  Topology topology;
  const SwitchId centre = topology.add_switch("switch");
  for (const Line& line : hosts) topology.hosts.push_back({centre, line});
  return topology;
}

Topology leaf_spine(const LeafSpine& shape, std::span<const Line> hosts) {
  if (shape.leaves == 0 || shape.spines == 0 || shape.parallel == 0) {
    fail_input("a leaf-spine fabric has at least one leaf, one spine and one cable between them");
  }
  Topology topology;
  for (uint32_t l = 0; l < shape.leaves; ++l) topology.add_switch(fmt::format("leaf{}", l));
  for (uint32_t s = 0; s < shape.spines; ++s) {
    const SwitchId spine = topology.add_switch(fmt::format("spine{}", s));
    for (uint32_t l = 0; l < shape.leaves; ++l) {
      for (uint32_t i = 0; i < shape.parallel; ++i) topology.cables.push_back({SwitchId(l), spine, shape.uplink});
    }
  }
  const size_t block = (hosts.size() + shape.leaves - 1) / shape.leaves;
  for (size_t h = 0; h < hosts.size(); ++h) {
    topology.hosts.push_back({SwitchId(static_cast<uint32_t>(h / block)), hosts[h]});
  }
  return topology;
}

Topology fat_tree(const FatTree& shape, std::span<const Line> hosts) {
  const uint32_t k = shape.k, half = k / 2;
  if (k < 2 || k > 64 || k % 2 != 0) fail_input("a fat-tree's k is even, 2 .. 64, not {}", k);
  if (hosts.size() > uint64_t{k} * half * half) {
    fail_input("a fat-tree of {}-port switches has {} hosts at most, not {}", k, uint64_t{k} * half * half,
               hosts.size());
  }
  Topology topology;
  for (uint32_t pod = 0; pod < k; ++pod) {
    for (uint32_t e = 0; e < half; ++e) topology.add_switch(fmt::format("edge{}.{}", pod, e));
  }
  for (uint32_t pod = 0; pod < k; ++pod) {
    for (uint32_t a = 0; a < half; ++a) topology.add_switch(fmt::format("aggregation{}.{}", pod, a));
  }
  const uint32_t first_aggregation = k * half, first_core = 2 * k * half;
  for (uint32_t c = 0; c < half * half; ++c) topology.add_switch(fmt::format("core{}", c));
  for (uint32_t pod = 0; pod < k; ++pod) {
    for (uint32_t a = 0; a < half; ++a) {
      const SwitchId aggregation(first_aggregation + pod * half + a);
      for (uint32_t e = 0; e < half; ++e) {
        topology.cables.push_back({SwitchId(pod * half + e), aggregation, shape.uplink});
      }
      for (uint32_t c = 0; c < half; ++c) {
        topology.cables.push_back({aggregation, SwitchId(first_core + a * half + c), shape.uplink});
      }
    }
  }
  for (size_t h = 0; h < hosts.size(); ++h) {
    topology.hosts.push_back({SwitchId(static_cast<uint32_t>(h / half)), hosts[h]});
  }
  return topology;
}

Topology rail_optimised(const RailOptimised& shape, std::span<const Line> hosts) {
  if (shape.rails == 0 || shape.hosts_per_group == 0 || shape.spines == 0) {
    fail_input("a rail-optimised fabric has at least one rail, one host a group and one spine");
  }
  const size_t block = size_t{shape.rails} * shape.hosts_per_group;
  const auto groups = static_cast<uint32_t>((hosts.size() + block - 1) / block);
  Topology topology;
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t r = 0; r < shape.rails; ++r) topology.add_switch(fmt::format("group{}.rail{}", g, r));
  }
  const auto leaves = static_cast<uint32_t>(topology.switches.size());
  for (uint32_t s = 0; s < shape.spines; ++s) {
    const SwitchId spine = topology.add_switch(fmt::format("spine{}", s));
    for (uint32_t l = 0; l < leaves; ++l) topology.cables.push_back({SwitchId(l), spine, shape.uplink});
  }
  for (size_t h = 0; h < hosts.size(); ++h) {
    const size_t leaf = h / block * shape.rails + h % shape.rails;
    topology.hosts.push_back({SwitchId(static_cast<uint32_t>(leaf)), hosts[h]});
  }
  return topology;
}

}  // namespace rankwire
