#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "emulator/input/fabric_topology.h"
#include "emulator/input/validate.h"

namespace rankwire {
namespace {

/// What belongs to some topologies alone.
class ShapeCheck {
 public:
  ShapeCheck(const FabricConfig& fabric, const Tree& root) : fabric_(fabric), root_(root) {}

  struct Named {
    TopologyName topology;
    const char* word;
  };
  static constexpr Named kLeafSpine{TopologyName::kLeafSpine, "leaf_spine"};
  static constexpr Named kFatTree{TopologyName::kFatTree, "fat_tree"};
  static constexpr Named kRail{TopologyName::kRail, "rail"};
  static constexpr Named kRing{TopologyName::kRing, "ring"};
  static constexpr Named kTorus2d{TopologyName::kTorus2d, "torus2d"};
  static constexpr Named kTorus3d{TopologyName::kTorus3d, "torus3d"};
  static constexpr Named kDragonfly{TopologyName::kDragonfly, "dragonfly"};
  static constexpr Named kHierarchy{TopologyName::kHierarchy, "hierarchy"};
  static constexpr Named kGraph{TopologyName::kGraph, "graph"};
  static constexpr Named kInfragraph{TopologyName::kInfragraph, "infragraph"};
  static constexpr Named kAstraNetwork{TopologyName::kAstraNetwork, "astra_network"};

  bool is(Named topology) const { return fabric_.topology == topology.topology; }

  /// A key that is given belongs to one of these topologies.
  void needs(bool given, const char* key, std::initializer_list<Named> topologies) const {
    if (!given || std::ranges::any_of(topologies, [&](Named t) { return is(t); })) return;
    std::string words;
    for (const Named& t : topologies) words += fmt::format("{}'topology: {}'", words.empty() ? "" : " or ", t.word);
    fail_key(root_, key, "needs {}", words);
  }
  /// And such a topology needs the key.
  void belongs(bool given, const char* key, Named topology) const {
    needs(given, fmt::format("fabric.{}", key).c_str(), {topology});
    if (!given && is(topology)) fail_key(root_, "fabric", "'topology: {}' needs '{}'", topology.word, key);
  }

 private:
  const FabricConfig& fabric_;
  const Tree& root_;
};

void check_shape(const FabricConfig& fabric, const Tree& root) {
  const FabricConfig defaults;
  const ShapeCheck check(fabric, root);
  check.needs(fabric.leaves != defaults.leaves, "fabric.leaves", {ShapeCheck::kLeafSpine});
  check.needs(fabric.parallel != defaults.parallel, "fabric.parallel", {ShapeCheck::kLeafSpine});
  check.needs(fabric.k != defaults.k, "fabric.k", {ShapeCheck::kFatTree});
  check.needs(fabric.rails != defaults.rails, "fabric.rails", {ShapeCheck::kRail});
  check.needs(fabric.group != defaults.group, "fabric.group", {ShapeCheck::kRail});
  check.needs(!fabric.extents.empty(), "fabric.extents", {ShapeCheck::kTorus2d, ShapeCheck::kTorus3d});
  check.needs(!fabric.wrap, "fabric.wrap", {ShapeCheck::kRing, ShapeCheck::kTorus2d, ShapeCheck::kTorus3d});
  check.needs(fabric.groups != defaults.groups, "fabric.groups", {ShapeCheck::kDragonfly});
  check.needs(fabric.routers != defaults.routers, "fabric.routers", {ShapeCheck::kDragonfly});
  check.needs(fabric.router_hosts != defaults.router_hosts, "fabric.router_hosts", {ShapeCheck::kDragonfly});
  check.needs(fabric.global_links != defaults.global_links, "fabric.global_links", {ShapeCheck::kDragonfly});
  check.needs(fabric.global_rate.has_value(), "fabric.global_rate", {ShapeCheck::kDragonfly});
  check.needs(fabric.global_latency.has_value(), "fabric.global_latency", {ShapeCheck::kDragonfly});
  check.needs(fabric.oversubscription.has_value(), "fabric.oversubscription",
              {ShapeCheck::kLeafSpine, ShapeCheck::kFatTree});
  check.needs(fabric.routing == RoutingName::kDimensionOrder, "fabric.routing",
              {ShapeCheck::kRing, ShapeCheck::kTorus2d, ShapeCheck::kTorus3d, ShapeCheck::kAstraNetwork});
  check.needs(!fabric.links.empty(), "fabric.links", {ShapeCheck::kGraph});
  check.needs(!fabric.hosts.empty(), "fabric.hosts", {ShapeCheck::kGraph});
  check.belongs(!fabric.switches.empty(), "switches", ShapeCheck::kGraph);
  check.belongs(!fabric.levels.empty(), "levels", ShapeCheck::kHierarchy);
  check.belongs(!fabric.infragraph.empty(), "infragraph", ShapeCheck::kInfragraph);
  check.belongs(!fabric.astra_network.empty(), "astra_network", ShapeCheck::kAstraNetwork);
  const size_t extents = check.is(ShapeCheck::kTorus2d)   ? 2
                         : check.is(ShapeCheck::kTorus3d) ? 3
                                                          : fabric.extents.size();
  if (fabric.extents.size() != extents) {
    fail_key(root, "fabric.extents", "has {} values, and the torus needs {}", fabric.extents.size(), extents);
  }
  if (fabric.oversubscription && fabric.link_rate) {
    fail_key(root, "fabric.oversubscription", "contradicts fabric.link_rate; give one of them");
  }
}

void check_devices(const FabricConfig& fabric, const Tree& root) {
  if (!fabric.weights.empty() && fabric.weights.size() != 8) {
    fail_key(root, "fabric.weights", "has {} weights; give one for each of 8 priorities", fabric.weights.size());
  }
  if (fabric.ecn && fabric.ecn->minimum > fabric.ecn->maximum) {
    fail_key(root, "fabric.ecn.minimum", "{} bytes are above fabric.ecn.maximum {} bytes", fabric.ecn->minimum.count,
             fabric.ecn->maximum.count);
  }
  if (fabric.buffer.xoff && fabric.buffer.ingress_alpha) {
    fail_key(root, "fabric.buffer.xoff", "contradicts fabric.buffer.ingress_alpha; a limit is fixed or a share");
  }
}

void check_failures(const RunConfig& config, const Topology& topology, const Tree& root) {
  const std::vector<FabricFailureConfig>& failures = config.fabric->failures;
  for (size_t i = 0; i < failures.size(); ++i) {
    const FabricFailureConfig& failure = failures[i];
    const std::string key = fmt::format("fabric.failures[{}]", i);
    if (failure.up && *failure.up <= failure.down) fail_key(root, key + ".up", "is not after {}.down", key);
    if (failure.times > 1 && !failure.period) fail_key(root, key + ".times", "needs '{}.period'", key);
    if (failure.period && !failure.up) fail_key(root, key + ".period", "needs '{}.up'", key);
    if (failure.period && (*failure.period <= *failure.up - failure.down))
      fail_key(root, key + ".period", "is not longer than it is down, from {}.down to {}.up", key, key);
    if (!failure.b && failure.cable != 0) fail_key(root, key + ".cable", "needs '{}.b'", key);
    try {
      failing_cables(config, topology, failure);
    } catch (const Error& error) {
      fail_key(root, key, "{}", error.what());
    }
  }
}

Topology topology_of(const RunConfig& config, const Tree& root) {
  try {
    return fabric_topology(config);
  } catch (const Error& error) {
    fail_key(root, "fabric", "{}", error.what());
  }
}

}  // namespace

void validate_fabric(const RunConfig& config, const Tree& root) {
  if (!config.fabric) return;
  if (!config.ports.front().embedded()) {
    fail_key(root, "fabric", "is for ports on 'ring' or 'memory'; port '{}' leads to a device outside",
             config.ports.front().name);
  }
  const SwitchConfig defaults;
  if (config.embedded_switch.buffer != defaults.buffer)
    fail_key(root, "switch.buffer", "is for the switch without 'fabric'; see fabric.buffer.queue");
  if (config.embedded_switch.ecn_threshold)
    fail_key(root, "switch.ecn_threshold", "is for the switch without 'fabric'; see fabric.ecn");
  check_shape(*config.fabric, root);
  check_devices(*config.fabric, root);
  check_failures(config, topology_of(config, root), root);
}

}  // namespace rankwire
