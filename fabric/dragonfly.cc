#include "fabric/dragonfly.h"

#include <fmt/format.h>

#include "base/error.h"

namespace rankwire {
namespace {

/// Two of them cost more than one with a local cable before and after it.
constexpr uint32_t kGlobalCost = 3;

void check_shape(const Dragonfly& shape, size_t hosts) {
  if (shape.groups == 0 || shape.routers == 0 || shape.router_hosts == 0) {
    fail_input("a dragonfly has at least one group, one router a group and one host a router");
  }
  const uint64_t global = uint64_t{shape.routers} * shape.global_links;
  if (global + 1 < shape.groups) {
    fail_input("a group of {} routers with {} global links each reaches {} others, not {}", shape.routers,
               shape.global_links, global, shape.groups - 1);
  }
  const uint64_t room = uint64_t{shape.groups} * shape.routers * shape.router_hosts;
  if (hosts > room) {
    fail_input("a dragonfly of {} groups of {} routers with {} hosts each has room for {}, not for {}", shape.groups,
               shape.routers, shape.router_hosts, room, hosts);
  }
}

void join_groups(Topology& topology, const Dragonfly& shape) {
  const uint32_t groups = shape.groups, others = groups - 1;
  if (others == 0) return;
  const auto router = [&](uint32_t group, uint32_t number) {
    return SwitchId(group * shape.routers + number / shape.global_links);
  };
  const uint32_t used = shape.routers * shape.global_links / others * others;
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t j = 0; j < used; ++j) {
      const uint32_t distance = j % others + 1, peer = (g + groups - distance) % groups;
      // Seen from there this group is groups - distance behind.
      const uint32_t back = j - j % others + (groups - distance - 1);
      if (g > peer) continue;
      topology.cables.push_back(
          {.a = router(g, j), .b = router(peer, back), .line = shape.global, .cost = kGlobalCost});
    }
  }
}

}  // namespace

Topology dragonfly(const Dragonfly& shape, std::span<const Line> hosts) {
  check_shape(shape, hosts.size());
  Topology topology;
  for (uint32_t g = 0; g < shape.groups; ++g) {
    for (uint32_t r = 0; r < shape.routers; ++r) {
      const SwitchId router = topology.add_switch(fmt::format("group{}.router{}", g, r));
      for (uint32_t before = 0; before < r; ++before) {
        topology.cables.push_back({SwitchId(g * shape.routers + before), router, shape.local});
      }
    }
  }
  join_groups(topology, shape);
  for (size_t h = 0; h < hosts.size(); ++h) {
    topology.hosts.push_back({SwitchId(static_cast<uint32_t>(h / shape.router_hosts)), hosts[h]});
  }
  return topology;
}

}  // namespace rankwire
