// Follows routes through a topology.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fabric/routing.h"

namespace rankwire {

/// The switches on every way that `routes` leave, in the order of the ports.
inline std::vector<std::vector<SwitchId>> ways(const Topology& topology, const Routes& routes, SwitchId at,
                                               SwitchId to) {
  if (at == to) return {{at}};
  std::vector<std::vector<SwitchId>> found;
  for (const uint32_t port : routes.next_ports(at, to)) {
    for (std::vector<SwitchId>& rest : ways(topology, routes, topology.switch_of(port ^ 1), to)) {
      rest.insert(rest.begin(), at);
      found.push_back(std::move(rest));
    }
  }
  return found;
}

/// Ways by the names of their switches, as "s0 s1 s2".
using Ways = std::set<std::string>;

/// The same from host to host.
inline Ways named_ways(const Topology& topology, uint32_t from, uint32_t to) {
  Ways texts;
  for (const auto& way : ways(topology, Routes(topology), topology.hosts[from].at, topology.hosts[to].at)) {
    std::string text;
    for (const SwitchId at : way) text += (text.empty() ? "" : " ") + topology.switches[at.value];
    texts.insert(text);
  }
  return texts;
}

}  // namespace rankwire
