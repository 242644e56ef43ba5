#include "fabric/fabric_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fabric/ecmp_hash.h"
#include "fabric/routing.h"

namespace rankwire {
namespace {

/// The i-th of n parts of an amount.
uint32_t part(uint32_t amount, uint32_t i, uint32_t n) {
  return amount / n + (i < amount % n ? 1 : 0);
}

/// Finds the links of routes.
class Paths {
 public:
  Paths(const Topology& topology, const std::vector<uint64_t>& hash_seeds)
      : topology_(topology), routes_(topology), hash_seeds_(hash_seeds), at_(topology.switches.size()) {}

  std::vector<LinkUse> between(uint32_t source, uint32_t destination, const FlowHashes& flows) {
    links_.clear();
    use(LinkId(topology_.ports() + source), 0, LinkUse::kWhole);
    const SwitchId from = topology_.switch_of(topology_.host_port(source));
    const SwitchId to = topology_.switch_of(topology_.host_port(destination));
    const auto flow_count = static_cast<uint32_t>(flows.size());
    for (uint32_t f = 0; f < flow_count; ++f) follow(from, to, flows[f], part(LinkUse::kWhole, f, flow_count));
    if (flows.empty()) spread(from, to);
    const uint32_t hops = 1 + std::ranges::max_element(links_, {}, &LinkUse::hop)->hop;
    use(LinkId(topology_.host_port(destination)), hops, LinkUse::kWhole);
    std::ranges::stable_sort(links_, {}, &LinkUse::hop);
    return links_;
  }

 private:
  void follow(SwitchId at, SwitchId to, uint32_t flow, uint32_t share) {
    for (uint32_t hop = 1; at != to; ++hop) {
      const std::span<const uint32_t> ports = routes_.next_ports(at, to);
      const auto members = static_cast<uint32_t>(ports.size());
      const uint32_t port = ports[ecmp_member(flow, hash_seeds_[at.value], members)];
      use(LinkId(port), hop, share);
      at = far_end(port);
    }
  }

  // Tier by tier: all that leaves one is equally far from the destination.
  void spread(SwitchId from, SwitchId to) {
    std::vector<SwitchId> tier = {from}, next;
    at_[from.value] = LinkUse::kWhole;
    for (uint32_t hop = 1; tier != std::vector{to}; ++hop) {
      for (const SwitchId at : tier) {
        const std::span<const uint32_t> ports = routes_.next_ports(at, to);
        const uint32_t amount = std::exchange(at_[at.value], 0);
        for (uint32_t i = 0; i < ports.size(); ++i) {
          const uint32_t share = part(amount, i, static_cast<uint32_t>(ports.size()));
          if (share == 0) continue;
          use(LinkId(ports[i]), hop, share);
          const SwitchId there = far_end(ports[i]);
          if (at_[there.value] == 0) next.push_back(there);
          at_[there.value] += share;
        }
      }
      tier.swap(next);
      next.clear();
    }
    at_[to.value] = 0;
  }

  void use(LinkId link, uint32_t hop, uint32_t share) {
    const auto known = std::ranges::find(links_, link, &LinkUse::link);
    if (known == links_.end()) {
      links_.push_back({link, hop, share});
    } else {
      known->share += share;
    }
  }

  SwitchId far_end(uint32_t port) const { return topology_.switch_of(port ^ 1); }

  const Topology& topology_;
  const Routes routes_;
  const std::vector<uint64_t>& hash_seeds_;
  std::vector<uint32_t> at_;  // by switch: what of a message is there
  std::vector<LinkUse> links_;
};

}  // namespace

Network fabric_network(const Topology& topology, const FabricNetworkOptions& options, const TransportPlan& plan,
                       std::span<const FlowHashes> flows) {
  Network network;
  for (uint32_t p = 0; p < topology.ports(); ++p) {
    const Line& line = topology.line_of(p);
    const Duration beyond = topology.is_host_port(p) ? Duration() : options.switch_latency;
    network.links.push_back({topology.port_name(p, options.hosts), line.rate, line.latency + beyond, beyond});
  }
  for (uint32_t h = 0; h < topology.hosts.size(); ++h) {
    const Line& line = topology.hosts[h].line;
    network.links.push_back(
        {options.hosts[h] + ".up", line.rate, line.latency + options.switch_latency, options.switch_latency});
  }
  const auto first_local = static_cast<uint32_t>(network.links.size());
  add_local_links(network, plan.ranks, options.local_bandwidth, options.local_latency);
  Paths paths(topology, options.hash_seeds);
  for (const Connection& c : plan.connections) {
    if (c.path == Path::kLocal) {
      network.routes.push_back(local_route(c, first_local));
    } else {
      const Nic& source = plan.nics[c.source_nic.value];
      const uint32_t destination = plan.nics[c.destination_nic.value].port.value;
      network.routes.push_back({paths.between(source.port.value, destination, flows[c.id.value]),
                                framing_of(source, options.framing), options.cut_through});
    }
  }
  return network;
}

}  // namespace rankwire
