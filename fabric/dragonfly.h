// The dragonfly (Kim, Dally, Scott, Abts, ISCA 2008).
#pragma once

#include <cstdint>
#include <span>

#include "fabric/topology.h"

namespace rankwire {

/// Groups of routers, in each of which any two are joined, and which are joined with each other in the palm-tree
/// arrangement (Camarero, Vallejo, Beivide, ACM TACO 11(4), 2014): global port k of router r of group g has number
/// j = r x global_links + k and leads to group g - 1 - j. With fewer groups than ports allow it goes round again: j
/// modulo groups - 1; ports beyond the last whole round stay empty.
struct Dragonfly {
  uint32_t groups = 3;
  uint32_t routers = 2;       ///< a group
  uint32_t router_hosts = 2;  ///< behind a router
  uint32_t global_links = 1;  ///< global ports of a router
  Line local, global;         ///< of cables within a group, and between groups
};

/// Routers are "group0.router1". Hosts stand behind the routers in blocks, at most as many as there is room for. A
/// global cable costs 3 and a local one 1 (see Routes), so the paths are the minimal ones: at most one global cable,
/// and one local cable before and after it. Throws Error(kInput).
Topology dragonfly(const Dragonfly& shape, std::span<const Line> hosts);

}  // namespace rankwire
