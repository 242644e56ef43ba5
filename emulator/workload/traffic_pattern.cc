#include "emulator/workload/traffic_pattern.h"

#include <algorithm>

#include "base/random.h"

namespace rankwire {
namespace {

using TrafficPairs = std::vector<std::pair<uint32_t, uint32_t>>;

TrafficPairs meeting_pairs(const TrafficEnds& ends) {
  TrafficPairs pairs;
  for (const uint32_t source : ends.from)
    for (const uint32_t destination : ends.to)
      if (ends.meet(source, destination)) pairs.emplace_back(source, destination);
  return pairs;
}

TrafficPairs circle(std::span<const uint32_t> members, uint64_t seed) {
  std::vector<uint32_t> order(members.begin(), members.end());
  Random random(seed);
  for (size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  TrafficPairs pairs;
  for (const uint32_t source : members) {
    const auto place = static_cast<size_t>(std::ranges::find(order, source) - order.begin());
    pairs.emplace_back(source, order[(place + 1) % order.size()]);
  }
  return pairs;
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> traffic_pairs(TrafficPattern pattern, const TrafficEnds& ends,
                                                         uint64_t seed) {
  TrafficPairs pairs;
  switch (pattern) {
    case TrafficPattern::kPairs:
      for (size_t i = 0; i < ends.from.size(); ++i) pairs.emplace_back(ends.from[i], ends.to[i]);
      break;
    case TrafficPattern::kAllToAll:
      return meeting_pairs(ends);
    case TrafficPattern::kPermutation:
      return circle(ends.from, seed);
    case TrafficPattern::kIncast:
      for (const uint32_t source : ends.from) pairs.emplace_back(source, ends.to.front());
      break;
    case TrafficPattern::kRandomPairs: {
      const TrafficPairs all = meeting_pairs(ends);
      Random random(seed);
      for (uint32_t i = 0; i < ends.pairs && !all.empty(); ++i) pairs.push_back(all[random.below(all.size())]);
      break;
    }
  }
  return pairs;
}

}  // namespace rankwire
