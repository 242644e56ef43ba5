// Networks of several dimensions: rings and tori, meshes, fully connected networks, and what ASTRA-sim makes of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fabric/topology.h"

namespace rankwire {

/// How the NPUs that differ in one coordinate alone are joined.
enum class DimensionKind : uint8_t {
  kRing,            ///< a cycle; two have one cable
  kLine,            ///< a cycle without its last cable: a dimension of a mesh
  kFullyConnected,  ///< a cable between any two
  kSwitch,          ///< a cable of each to one switch
};

struct Dimension {
  DimensionKind kind = DimensionKind::kRing;
  uint32_t extent = 2;  ///< NPUs, at least 1
  Line line;            ///< of each cable
};

/// Each NPU has a router of its own, "npu3" or with several dimensions "npu3.0.1", that forwards for others; host h is
/// the NPU whose coordinates are the digits of h in the mixed radix of the extents, dimension 0 fastest. A switch is
/// "dimension1.switch3.1": the coordinates of its NPUs without that of its dimension. There are as many hosts as NPUs.
/// `hosts` are their attachments to their routers, inside the NPU. `dimension_order`: a cable's order is its dimension
/// (see Routes), so paths go along dimension 0 first; else all shortest paths are used. Throws Error(kInput).
Topology dimensions(std::span<const Dimension> shape, std::span<const Line> hosts, bool dimension_order);

/// The most cables that a router has.
uint32_t most_cables(std::span<const Dimension> shape);

/// The rates of all cables at the switch behind which the host is, together.
Bandwidth cable_rate_at(const Topology& topology, uint32_t host);

}  // namespace rankwire
