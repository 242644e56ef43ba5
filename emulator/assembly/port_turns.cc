#include "emulator/assembly/port_turns.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/assembly/ensemble.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"

namespace rankwire {
namespace {

/// The fastest that the model knows: a frame takes less than a nanosecond.
constexpr Bandwidth kInstant(int64_t{1} << 46);

/// By port: ranks that send or receive something on the wire, each as often as it has channels.
std::vector<int64_t> chains_at_ports(const Setup& setup) {
  std::vector<std::vector<std::pair<RankId, uint8_t>>> chains(setup.config.ports.size());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path == Path::kLocal || c.messages_per_iteration == 0 || setup.background.has(c.id)) continue;
    chains[setup.placement.nics[c.source_nic.value].port.value].emplace_back(c.source, c.channel);
    chains[setup.placement.nics[c.destination_nic.value].port.value].emplace_back(c.destination, c.channel);
  }
  std::vector<int64_t> counts;
  for (std::vector<std::pair<RankId, uint8_t>>& of_port : chains) {
    std::ranges::sort(of_port);
    counts.push_back(std::unique(of_port.begin(), of_port.end()) - of_port.begin());
  }
  return counts;
}

}  // namespace

std::optional<Network> network_with_turns(const Setup& setup, const Network& network) {
  if (!network.reroutes.empty() || !setup.background.empty()) return std::nullopt;
  const std::vector<int64_t> chains = chains_at_ports(setup);
  if (std::ranges::all_of(chains, [](int64_t count) { return count < 2; })) return std::nullopt;
  const auto at = [&](NicId nic) { return chains[setup.placement.nics[nic.value].port.value]; };
  Network turns = network;
  // Connections of different delays share links, so each has a link of its own for its delay, and the others have none.
  for (const Connection& c : setup.plan.transport.connections) {
    Route& route = turns.routes[c.id.value];
    if (c.path == Path::kLocal || route.links.empty()) continue;
    const Bandwidth port = network.links[route.links.front().link.value].bandwidth;
    const int64_t others = std::max<int64_t>(1, std::max(at(c.source_nic), at(c.destination_nic))) - 1;
    const Duration hidden = serialization_time(line_size(c.largest_message, route.framing), port) * others;
    const Duration delay = forwarding_time(network, route, c.largest_message) - hidden;
    for (const LinkUse& use : route.links) {
      Link& link = turns.links[use.link.value];
      link.latency = link.forwarding = {};
    }
    const LinkId own(static_cast<uint32_t>(turns.links.size()));
    route.links.push_back({.link = own, .hop = route.links.back().hop + 1});
    route.cut_through = true;
    turns.links.push_back(
        {.name = "turns", .bandwidth = kInstant, .latency = std::max(Duration(), delay), .forwarding = {}});
  }
  return turns;
}

std::optional<Duration> completion_with_turns(const Setup& setup, const RunControl& control) {
  const std::optional<Network> network = network_with_turns(setup, reference_network(setup));
  if (!network) return std::nullopt;
  const std::unique_ptr<NodeVariation> member = member_variation(setup, 0);
  std::optional<Duration> least;
  for (const NodeVariation* variation : {setup.variation.get(), member.get()}) {
    const auto result = run_unrecorded(setup,
                                       {.label = "with turns at ports",
                                        .operations = planned_operations(setup.config, setup.workload),
                                        .variation = variation},
                                       *network, control);
    if (result) least = std::min(least.value_or(result->completion), result->completion);
  }
  return least;
}

}  // namespace rankwire
