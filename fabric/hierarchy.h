// Tiers of switches, from the NPUs upwards: scale-up domains below scale-out networks, and trees of any depth.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fabric/topology.h"

namespace rankwire {

/// A level joins `count` units of the level below, or NPUs at the lowest, to a unit of its own.
struct HierarchyLevel {
  std::string name;        ///< of its switches: "leaf3", or "leaf3.0" where a unit has several
  uint32_t count = 2;      ///< units of the level below in a unit of this
  uint32_t switches = 1;   ///< of a unit, each joined to all that is below
  uint32_t cables = 1;     ///< from each switch below, or NPU, to each switch
  bool from_npus = false;  ///< the cables come from all NPUs of the unit, past the switches of the levels below: NICs
  Line line;               ///< of a cable
};

/// Whether each NPU has a router of its own, "npu3", which joins it to several switches and forwards for nobody.
/// Otherwise NPUs are behind the single switch of their unit of the lowest level, whose `line` is that of the
/// attachments.
bool has_npu_routers(std::span<const HierarchyLevel> levels);

/// As many hosts as the counts multiply to, NPU by NPU. `hosts` are the attachments: inside the NPU where it has a
/// router, else `line` of the lowest level. A cable of level l costs 2^l (see Routes), so a path goes no higher than it
/// must: what is within a scale-up domain stays there, and what leaves it takes the sender's NIC. Throws Error(kInput).
Topology hierarchy(std::span<const HierarchyLevel> levels, std::span<const Line> hosts);

}  // namespace rankwire
