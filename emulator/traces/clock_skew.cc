#include "emulator/traces/clock_skew.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace rankwire {
namespace {

/// The lower one of the two in the middle.
Duration median(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

bool waits_for_all(const NodeFacts& collective) {
  switch (static_cast<CollectiveKind>(collective.collective.value_or(0))) {
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

std::optional<std::pair<size_t, size_t>> MeetingClocks::add(std::span<const Call> members) {
  std::vector<Duration> ends;
  size_t first = 0, last = 0;
  for (size_t m = 0; m < members.size(); ++m) {
    ends.push_back(members[m].end - Time(0));
    if (members[m].end < members[first].end) first = m;
    if (members[m].start > members[last].start) last = m;
  }
  const Duration middle = median(ends);
  for (size_t m = 0; m < members.size(); ++m) offsets_[members[m].place].push_back(ends[m] - middle);
  if (members[first].end >= members[last].start) return std::nullopt;
  contradicted_ = true;
  return std::pair(first, last);
}

std::vector<Duration> MeetingClocks::offsets() const {
  std::vector<Duration> result;
  if (!contradicted_) return result;
  for (const std::vector<Duration>& of_rank : offsets_)
    result.push_back(of_rank.empty() ? Duration() : median(of_rank));
  return result;
}

std::vector<Duration> clock_offsets(const RankSet& set, const Matches& matches, Findings& findings) {
  MeetingClocks fit(set.ranks.size());
  std::string contradiction;  // the first one in words
  std::vector<MeetingClocks::Call> calls;
  for (const auto& numbered : matches.collectives) {
    for (const std::vector<NodeRef>& members : numbered) {
      if (members.size() < 2 || !waits_for_all(set.node(members.front()))) continue;
      calls.clear();
      for (const NodeRef at : members) {
        const NodeFacts& node = set.node(at);
        if (!node.started() || node.recorded() == Duration::max()) break;
        calls.push_back({at.place, *node.started(), *node.started() + node.recorded()});
      }
      if (calls.size() < members.size()) continue;
      const auto found = fit.add(calls);
      if (found && contradiction.empty()) {
        contradiction = fmt::format("{} ends before {} begins", set.where(members[found->first]),
                                    set.where(members[found->second]));
      }
    }
  }
  const std::vector<Duration> offsets = fit.offsets();
  for (uint32_t place = 0; place < offsets.size(); ++place) {
    if (offsets[place] == Duration()) continue;
    const RankFacts& facts = set.ranks[place];
    findings.add("clock-skew", facts.path, facts.rank, std::nullopt,
                 fmt::format("its clock shows {} us {} than those of the ranks with which it shares {} collectives: {}",
                             std::abs(offsets[place].ps) / microseconds(1).ps,
                             offsets[place] > Duration() ? "more" : "less", fit.collectives(place), contradiction));
  }
  return offsets;
}

}  // namespace rankwire
