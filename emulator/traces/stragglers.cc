#include "emulator/traces/stragglers.h"

#include <algorithm>
#include <optional>

#include "emulator/traces/clock_skew.h"
#include "emulator/traces/node_names.h"

namespace rankwire {
namespace {

/// Nothing where nobody knows.
std::optional<Time> arrival_of(const std::vector<NodeArrival>& arrivals, uint32_t node) {
  const auto found = std::ranges::lower_bound(arrivals, node, {}, &NodeArrival::node);
  if (found == arrivals.end() || found->node != node) return std::nullopt;
  return found->time;
}

}  // namespace

StragglerFinder::StragglerFinder(const RankSet& set, std::vector<Duration> clock_offsets) : set_(set) {
  result_.ranks.resize(set.ranks.size());
  result_.clock_offsets = std::move(clock_offsets);
}

void StragglerFinder::add(uint32_t group, uint64_t number, const NodeFacts& call, std::vector<Member>& members) {
  if (members.size() < 2) return;
  ++result_.collectives;
  if (!result_.clock_offsets.empty()) {
    for (Member& member : members) member.time = member.time - result_.clock_offsets[member.place];
  }
  std::ranges::sort(members, {}, &Member::time);
  const Member &last = members.back(), &before = members[members.size() - 2];
  for (const Member& member : members) {
    RankLateness& rank = result_.ranks[member.place];
    ++rank.collectives;
    rank.waited += last.time - member.time;
  }
  if (last.time == before.time) return;
  RankLateness& rank = result_.ranks[last.place];
  ++rank.last;
  rank.held_up += last.time - before.time;
  keep({.kind = kind_name(call),
        .group = set_.groups[group].name,
        .number = number,
        .place = last.place,
        .late = last.time - before.time,
        .spread = last.time - members.front().time});
}

void StragglerFinder::keep(LateCall call) {
  std::vector<LateCall>& worst = result_.worst;
  const auto at = std::ranges::upper_bound(worst, call.late, std::ranges::greater(), &LateCall::late);
  if (at == worst.end() && worst.size() == Stragglers::kMostCalls) return;
  worst.insert(at, std::move(call));
  if (worst.size() > Stragglers::kMostCalls) worst.pop_back();
}

Stragglers find_stragglers(const RankSet& set, const Matches& matches,
                           const std::vector<std::vector<NodeArrival>>& arrivals, bool recorded) {
  Findings unused;
  StragglerFinder finder(set, recorded ? clock_offsets(set, matches, unused) : std::vector<Duration>());
  std::vector<StragglerFinder::Member> members;
  for (uint32_t group = 0; group < matches.collectives.size(); ++group) {
    for (uint64_t n = 0; n < matches.collectives[group].size(); ++n) {
      const std::vector<NodeRef>& calls = matches.collectives[group][n];
      members.clear();
      for (const NodeRef at : calls) {
        if (const std::optional<Time> time = arrival_of(arrivals[at.place], at.node))
          members.push_back({*time, at.place});
      }
      finder.add(group, n, set.node(calls.front()), members);
    }
  }
  return std::move(finder).take();
}

}  // namespace rankwire
