#include "fabric/fabric_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
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

  void use_cables(std::span<const uint8_t> in_use) { routes_.compute(in_use); }

  /// None when there is no path for a part of it.
  std::vector<LinkUse> between(uint32_t source, uint32_t destination, const FlowHashes& flows) {
    links_.clear();
    use(LinkId(topology_.ports() + source), 0, LinkUse::kWhole);
    const SwitchId from = topology_.switch_of(topology_.host_port(source));
    const SwitchId to = topology_.switch_of(topology_.host_port(destination));
    const auto flow_count = static_cast<uint32_t>(flows.size());
    if (from != to && routes_.next_ports(from, to).empty()) return {};
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
  Routes routes_;
  const std::vector<uint64_t>& hash_seeds_;
  std::vector<uint32_t> at_;  // by switch: what of a message is there
  std::vector<LinkUse> links_;
};

/// Follows the schedule of the cables.
class Rerouting {
 public:
  /// `network` has the links of the whole cables, and gets those of the others.
  Rerouting(const Topology& topology, const FabricNetworkOptions& options, Network& network)
      : options_(options),
        network_(network),
        cables_(topology.cables.size()),
        hosts_(topology.hosts.size()),
        now_(cables_ + hosts_),
        routed_(cables_ + hosts_, 1) {}

  /// Calls `changed(at)` whenever cables, or the routes, have changed; `paths` is as of then.
  template <class Changed>
  void run(Paths& paths, Changed changed) {
    std::set<Time> times, followed;
    for (const CableEvent& event : options_.schedule) {
      times.insert({event.at, event.at + options_.convergence});
      followed.insert(event.at + options_.convergence);
    }
    auto event = options_.schedule.begin();
    for (const Time at : times) {
      for (; event != options_.schedule.end() && event->at == at; ++event) now_[event->cable] = event->condition;
      if (followed.contains(at) && follow_cables()) paths.use_cables(std::span(routed_).first(cables_));
      changed(at);
    }
  }
  /// The links as the cables are now; none when one of them is down.
  std::vector<LinkUse> as_they_are(std::vector<LinkUse> links) {
    for (LinkUse& use : links) {
      const CableCondition& condition = now_[cable_of(use.link)];
      if (!condition.up) return {};
      use.link = link_in(use.link, condition);
    }
    return links;
  }

 private:
  /// Whether others are in use than before.
  bool follow_cables() {
    const std::vector<uint8_t> before = routed_;
    for (size_t i = 0; i < now_.size(); ++i) routed_[i] = now_[i].up ? 1 : 0;
    return routed_ != before;
  }

  LinkId link_in(LinkId whole, const CableCondition& condition) {
    Link link = network_.links[whole.value];
    if (condition.rate) link.bandwidth = std::min(link.bandwidth, *condition.rate);
    link.latency = link.latency + condition.latency;
    if (link.bandwidth == network_.links[whole.value].bandwidth && condition.latency == Duration()) return whole;
    const auto [known, added] = degraded_.try_emplace({whole.value, link.bandwidth.bits_per_second, link.latency.ps},
                                                      static_cast<uint32_t>(network_.links.size()));
    if (added) {
      link.name += " (degraded)";
      link.whole = whole;
      network_.links.push_back(std::move(link));
    }
    return LinkId(known->second);
  }

  // Both directions of the cables, then down to each host, and up from each.
  size_t cable_of(LinkId link) const {
    const size_t between = 2 * cables_;
    return link.value < between ? link.value / 2 : cables_ + (link.value - between) % hosts_;
  }

  const FabricNetworkOptions& options_;
  Network& network_;
  const size_t cables_, hosts_;      // between switches, and those to hosts
  std::vector<CableCondition> now_;  // by CableEvent::cable
  std::vector<uint8_t> routed_;      // the same: those in use when routes were computed
  std::map<std::tuple<uint32_t, int64_t, int64_t>, uint32_t> degraded_;  // by link, bit/s and ps: the one instead
};

/// What the schedule of the cables does to the connections. `links_of`: by the paths as they are.
template <class LinksOf>
void add_reroutes(const Topology& topology, const FabricNetworkOptions& options, const TransportPlan& plan,
                  Paths& paths, LinksOf links_of, Network& network) {
  if (options.schedule.empty()) return;
  std::vector<std::vector<LinkUse>> now;  // by connection
  for (const Route& route : network.routes) now.push_back(route.links);
  Rerouting rerouting(topology, options, network);
  rerouting.run(paths, [&](Time at) {
    for (const Connection& c : plan.connections) {
      if (c.path == Path::kLocal) continue;
      std::vector<LinkUse> links = rerouting.as_they_are(links_of(c));
      if (links == now[c.id.value]) continue;
      now[c.id.value] = links;
      network.reroutes.push_back({at, c.id.value, std::move(links)});
    }
  });
}

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
  const auto links_of = [&](const Connection& c) {
    return paths.between(plan.nics[c.source_nic.value].port.value, plan.nics[c.destination_nic.value].port.value,
                         flows[c.id.value]);
  };
  for (const Connection& c : plan.connections) {
    if (c.path == Path::kLocal) {
      network.routes.push_back(local_route(c, first_local));
    } else {
      network.routes.push_back(
          {links_of(c), framing_of(plan.nics[c.source_nic.value], options.framing), options.cut_through});
    }
  }
  add_reroutes(topology, options, plan, paths, links_of, network);
  return network;
}

}  // namespace rankwire
