// Fat-trees between the ranks of a Star, of its lines and switches.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "fabric/fabric_network.h"
#include "tests/simulator/fluid.h"

namespace rankwire {

/// Of k-port switches, with `an_edge` ranks behind each edge switch, at most k/2.
class RankFatTree {
 public:
  RankFatTree(const Star& ranks, uint32_t k, uint32_t an_edge) : ranks_(ranks), half_(k / 2) {
    const uint32_t n = ranks.plan().ranks;
    const Line line{kRate, kPortLatency};
    tree_ = fat_tree({.k = k, .uplink = line}, {});
    for (uint32_t r = 0; r < n; ++r) tree_.hosts.push_back({SwitchId(r / an_edge), line});
    options_ = {.switch_latency = kSwitchLatency,
                .framing = Star::framing(),
                .local_bandwidth = Bandwidth(800'000'000'000),
                .local_latency = nanoseconds(500)};
    for (uint32_t r = 0; r < n; ++r) options_.hosts.push_back("h" + std::to_string(r));
    for (uint32_t s = 0; s < tree_.switches.size(); ++s) options_.hash_seeds.push_back(switch_hash_seed(1, s, true));
  }

  /// Every connection takes the way of its number's hash.
  Network by_hash(uint64_t seed) const {
    std::vector<FlowHashes> hashes;
    for (const Connection& c : ranks_.plan().connections)
      hashes.push_back({static_cast<uint32_t>(mix64(seed << 32 | c.id.value))});
    return fabric_network(tree_, options_, ranks_.plan(), hashes);
  }

  /// With one rank an edge switch: of the pod's aggregation switches a connection takes that of the destination's place
  /// in its pod, and there the core switch of the source's place. So a link on the way up carries what one rank sends,
  /// and one on the way down what one rank receives. Hashes are tried until a connection's is such.
  Network free_of_collisions() const {
    std::vector<FlowHashes> hashes;
    for (const Connection& c : ranks_.plan().connections) {
      const uint32_t edge = c.source.value, pod = edge / half_;
      const uint32_t up = c.destination.value % half_, over = edge % half_;
      const uint32_t aggregation = 2 * half_ * half_ + pod * half_ + up;
      uint32_t hash = 0;
      while (ecmp_member(hash, options_.hash_seeds[edge], half_) != up ||
             ecmp_member(hash, options_.hash_seeds[aggregation], half_) != over)
        ++hash;
      hashes.push_back({hash});
    }
    return fabric_network(tree_, options_, ranks_.plan(), hashes);
  }

  /// The smallest k with as many edge switches, k^2/2.
  static uint32_t ports_for(uint32_t edge_switches) {
    uint32_t k = 2;
    while (k * k / 2 < edge_switches) k += 2;
    return k;
  }

 private:
  const Star& ranks_;
  const uint32_t half_;
  Topology tree_;
  FabricNetworkOptions options_;
};

inline Ways ways_of(const Star& ranks, const Network& network) {
  Ways ways;
  for (const Connection& c : ranks.plan().connections) {
    auto& way = ways[{c.source.value, c.destination.value, c.channel}];
    for (const LinkUse& use : network.routes[c.id.value].links) way.push_back(use.link.value);
  }
  return ways;
}

/// Whether all connections over any link have their source or their destination in common.
inline bool is_free_of_collisions(const Ways& ways) {
  std::map<uint32_t, std::pair<std::set<uint32_t>, std::set<uint32_t>>> ends;  // by link: sources, destinations
  for (const auto& [name, way] : ways)
    for (const uint32_t link : way) {
      ends[link].first.insert(std::get<0>(name));
      ends[link].second.insert(std::get<1>(name));
    }
  return std::ranges::all_of(
      ends, [](const auto& of) { return of.second.first.size() == 1 || of.second.second.size() == 1; });
}

/// Out of each rank, and in.
inline Ways star_ways(uint32_t ranks) {
  Ways ways;
  for (uint32_t s = 0; s < ranks; ++s)
    for (uint32_t d = 0; d < ranks; ++d)
      for (uint8_t channel = 0; s != d && channel < Walk::kChannels; ++channel) ways[{s, d, channel}] = {s, ranks + d};
  return ways;
}

}  // namespace rankwire
