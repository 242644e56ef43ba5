#include "emulator/traces/clock_skew.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {
namespace {

bool waits_for_all(const NodeFacts& node) {
  switch (static_cast<CollectiveKind>(node.collective.value_or(0))) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
    case CollectiveKind::kBarrier:
      return true;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBroadcast:
      break;
  }
  return false;
}

/// The lower one of the two in the middle.
Duration median(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::vector<Duration> clock_offsets(const RankSet& set, const Matches& matches, Findings& findings) {
  std::vector<std::vector<Duration>> offsets(set.ranks.size());
  std::string contradiction;  // the first one in words
  for (const auto& numbered : matches.collectives) {
    for (const std::vector<NodeRef>& members : numbered) {
      if (members.size() < 2 || !waits_for_all(set.node(members.front()))) continue;
      const bool recorded = std::ranges::all_of(
          members, [&](NodeRef at) { return set.node(at).started() && set.node(at).recorded() != Duration::max(); });
      if (!recorded) continue;
      std::vector<Duration> ends;
      const auto start_of = [&](NodeRef at) { return *set.node(at).started(); };
      const auto end_of = [&](NodeRef at) { return start_of(at) + set.node(at).recorded(); };
      for (const NodeRef at : members) ends.push_back(end_of(at) - Time(0));
      const NodeRef last = std::ranges::max(members, {}, start_of), first = std::ranges::min(members, {}, end_of);
      if (contradiction.empty() && end_of(first) < start_of(last)) {
        contradiction = fmt::format("{} ends before {} begins", set.where(first), set.where(last));
      }
      const Duration middle = median(ends);
      for (size_t m = 0; m < members.size(); ++m) offsets[members[m].place].push_back(ends[m] - middle);
    }
  }
  if (contradiction.empty()) return {};
  std::vector<Duration> result;
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    result.push_back(offsets[place].empty() ? Duration() : median(offsets[place]));
    if (result.back() == Duration()) continue;
    const RankFacts& facts = set.ranks[place];
    findings.add("clock-skew", facts.path, facts.rank, std::nullopt,
                 fmt::format("its clock shows {} us {} than those of the ranks with which it shares {} collectives: {}",
                             std::abs(result.back().ps) / microseconds(1).ps,
                             result.back() > Duration() ? "more" : "less", offsets[place].size(), contradiction));
  }
  return result;
}

}  // namespace rankwire
