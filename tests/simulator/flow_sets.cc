#include "tests/simulator/flow_sets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace rankwire {
namespace {

/// Cables of a random tree and some more, both directions of each: cable c is links 2c, 2c + 1.
class RandomGraph {
 public:
  RandomGraph(Random& random, FlowSet& set) : switches_(6 + static_cast<uint32_t>(random.below(15))) {
    for (uint32_t s = 1; s < switches_; ++s) join(s, static_cast<uint32_t>(random.below(s)), random, set);
    for (uint32_t i = 0; i < switches_ / 2; ++i) {
      const auto a = static_cast<uint32_t>(random.below(switches_)), b = static_cast<uint32_t>(random.below(switches_));
      if (a != b) join(a, b, random, set);
    }
  }

  uint32_t switches() const { return switches_; }

  /// Breadth first; of equal paths the one that was found first.
  std::vector<uint32_t> path(uint32_t from, uint32_t to) const {
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> reached{{from, {from, 0}}};  // switch: switch before, link
    std::vector<uint32_t> open{from};
    for (size_t next = 0; !reached.contains(to); ++next) {
      const auto [first, end] = links_.equal_range(open[next]);
      for (auto link = first; link != end; ++link) {
        const auto& [other, number] = link->second;
        if (reached.emplace(other, std::pair(open[next], number)).second) open.push_back(other);
      }
    }
    std::vector<uint32_t> links;
    for (uint32_t at = to; at != from; at = reached[at].first) links.push_back(reached[at].second);
    return links;
  }

 private:
  void join(uint32_t a, uint32_t b, Random& random, FlowSet& set) {
    const int64_t rate = 10'000'000'000 * static_cast<int64_t>(1 + random.below(80));
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      links_.emplace(from, std::pair(to, static_cast<uint32_t>(set.capacities.size())));
      set.capacities.push_back(rate);
    }
  }

  uint32_t switches_;
  std::multimap<uint32_t, std::pair<uint32_t, uint32_t>> links_;  // by switch: switch, link
};

}  // namespace

FlowSet random_flow_set(Random& random) {
  FlowSet set;
  const RandomGraph graph(random, set);
  const uint64_t flows = 5 + random.below(36);
  while (set.links_of_flow.size() < flows) {
    const auto from = static_cast<uint32_t>(random.below(graph.switches()));
    const auto to = static_cast<uint32_t>(random.below(graph.switches()));
    if (from != to) set.links_of_flow.push_back(graph.path(from, to));
  }
  return set;
}

std::vector<double> max_min_rates(const FlowSet& set, const std::vector<bool>& active) {
  std::vector<double> rates(active.size());
  std::vector<long double> left(set.capacities.begin(), set.capacities.end());
  std::vector<uint32_t> growing(left.size());
  std::set<uint32_t> flows;
  for (uint32_t f = 0; f < active.size(); ++f) {
    if (!active[f]) continue;
    flows.insert(f);
    for (const uint32_t link : set.links_of_flow[f]) ++growing[link];
  }
  // `level` is what every flow that still grows has.
  while (!flows.empty()) {
    long double level = std::numeric_limits<long double>::max();
    uint32_t full = 0;
    for (uint32_t l = 0; l < left.size(); ++l) {
      if (growing[l] == 0 || left[l] / growing[l] >= level) continue;
      level = left[l] / growing[l];
      full = l;
    }
    std::erase_if(flows, [&](uint32_t f) {
      if (std::ranges::find(set.links_of_flow[f], full) == set.links_of_flow[f].end()) return false;
      rates[f] = static_cast<double>(level);
      for (const uint32_t link : set.links_of_flow[f]) {
        left[link] -= level;
        --growing[link];
      }
      return true;
    });
  }
  return rates;
}

}  // namespace rankwire
