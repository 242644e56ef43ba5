#include "fabric/hierarchy.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr size_t kMostLevels = 16;

void check_levels(std::span<const HierarchyLevel> levels, size_t hosts) {
  if (levels.empty() || levels.size() > kMostLevels) {
    fail_input("a hierarchy has 1 .. {} levels, not {}", kMostLevels, levels.size());
  }
  uint64_t npus = 1;
  std::string text;
  for (const HierarchyLevel& level : levels) {
    if (level.count == 0 || level.switches == 0 || level.cables == 0) {
      fail_input("level '{}' needs at least one unit below, one switch and one cable", level.name);
    }
    npus *= level.count;
    text += fmt::format("{}{}", text.empty() ? "" : " x ", level.count);
    if (npus > hosts) break;
  }
  if (npus != hosts) fail_input("a hierarchy of {} has {} NPUs, not {}; every port is one", text, npus, hosts);
}

/// The switches of every unit of a level.
using Units = std::vector<std::vector<SwitchId>>;

std::vector<SwitchId> add_unit(Topology& topology, const HierarchyLevel& level, uint32_t number) {
  std::vector<SwitchId> switches;
  for (uint32_t s = 0; s < level.switches; ++s) {
    switches.push_back(topology.add_switch(level.switches == 1 ? fmt::format("{}{}", level.name, number)
                                                               : fmt::format("{}{}.{}", level.name, number, s)));
  }
  return switches;
}

void join(Topology& topology, const HierarchyLevel& level, uint32_t cost, const std::vector<SwitchId>& below,
          const std::vector<SwitchId>& above) {
  for (const SwitchId a : below) {
    for (const SwitchId b : above) {
      for (uint32_t i = 0; i < level.cables; ++i) {
        topology.cables.push_back({.a = a, .b = b, .line = level.line, .cost = cost});
      }
    }
  }
}

}  // namespace

bool has_npu_routers(std::span<const HierarchyLevel> levels) {
  if (levels.empty()) return false;
  if (levels[0].switches > 1 || levels[0].cables > 1) return true;
  return std::ranges::any_of(levels.subspan(1), &HierarchyLevel::from_npus);
}

Topology hierarchy(std::span<const HierarchyLevel> levels, std::span<const Line> hosts) {
  check_levels(levels, hosts.size());
  const bool routers = has_npu_routers(levels);
  Topology topology;
  Units npus, below;
  for (uint32_t h = 0; routers && h < hosts.size(); ++h) {
    npus.push_back({topology.add_switch(fmt::format("npu{}", h))});
    topology.hosts.push_back({npus.back().front(), hosts[h]});
  }
  size_t units = hosts.size(), size = 1;
  for (size_t l = 0; l < levels.size(); ++l) {
    const HierarchyLevel& level = levels[l];
    const bool from_npus = l == 0 || level.from_npus;
    units /= level.count;
    size *= level.count;
    Units made;
    for (uint32_t u = 0; u < units; ++u) {
      made.push_back(add_unit(topology, level, u));
      const size_t parts = from_npus ? size : level.count;
      for (size_t part = u * parts; part < (u + 1) * parts; ++part) {
        if (!from_npus) {
          join(topology, level, 1u << l, below[part], made.back());
        } else if (routers) {
          join(topology, level, 1u << l, npus[part], made.back());
        } else {
          topology.hosts.push_back({made.back().front(), hosts[part]});
        }
      }
    }
    below = std::move(made);
  }
  topology.no_transit.assign(routers ? topology.switches.size() : 0, 0);
  if (routers) std::fill_n(topology.no_transit.begin(), hosts.size(), uint8_t{1});
  return topology;
}

}  // namespace rankwire
