#include <fmt/format.h>

#include "emulator/input/fabric_topology.h"
#include "emulator/input/validate.h"

namespace rankwire {
namespace {

template <class... Args>
[[noreturn]] void fail_key(const Tree& root, const std::string& key, fmt::format_string<Args...> format,
                           Args&&... args) {
  fail_at(nearest(root, key).origin, "{}: {}", key, fmt::format(format, std::forward<Args>(args)...));
}

/// What belongs to one topology alone.
void check_shape(const FabricConfig& fabric, const Tree& root) {
  const FabricConfig defaults;
  const bool graph = fabric.topology == TopologyName::kGraph;
  const auto needs = [&](bool given, TopologyName topology, const char* key, const char* word) {
    if (given && fabric.topology != topology) fail_key(root, key, "needs 'topology: {}'", word);
  };
  needs(fabric.leaves != defaults.leaves, TopologyName::kLeafSpine, "fabric.leaves", "leaf_spine");
  needs(fabric.parallel != defaults.parallel, TopologyName::kLeafSpine, "fabric.parallel", "leaf_spine");
  needs(fabric.k != defaults.k, TopologyName::kFatTree, "fabric.k", "fat_tree");
  needs(fabric.rails != defaults.rails, TopologyName::kRail, "fabric.rails", "rail");
  needs(fabric.group != defaults.group, TopologyName::kRail, "fabric.group", "rail");
  needs(!fabric.switches.empty(), TopologyName::kGraph, "fabric.switches", "graph");
  needs(!fabric.links.empty(), TopologyName::kGraph, "fabric.links", "graph");
  needs(!fabric.hosts.empty(), TopologyName::kGraph, "fabric.hosts", "graph");
  if (graph && fabric.switches.empty()) fail_key(root, "fabric", "'topology: graph' needs 'switches'");
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

void check_failures(const FabricConfig& fabric, const Topology& topology, const Tree& root) {
  for (size_t i = 0; i < fabric.failures.size(); ++i) {
    const FabricFailureConfig& failure = fabric.failures[i];
    const std::string key = fmt::format("fabric.failures[{}]", i);
    if (failure.up && *failure.up <= failure.down) fail_key(root, key + ".up", "is not after {}.down", key);
    try {
      failing_cable(topology, failure);
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
  check_failures(*config.fabric, topology_of(config, root), root);
}

}  // namespace rankwire
