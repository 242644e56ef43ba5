#include "emulator/traces/stragglers.h"

#include <algorithm>
#include <optional>

#include "emulator/traces/clock_skew.h"
#include "emulator/traces/node_names.h"

namespace rankwire {
namespace {

/// Sorted arrivals of the members of one collective.
struct Member {
  Time time;
  uint32_t place = 0;
};

class StragglerFinder {
 public:
  StragglerFinder(const RankSet& set, const std::vector<std::vector<NodeArrival>>& arrivals,
                  std::vector<Duration> offsets)
      : set_(set), arrivals_(arrivals) {
    result_.ranks.resize(set.ranks.size());
    result_.clock_offsets = std::move(offsets);
  }

  void add(uint32_t group, uint64_t number, const std::vector<NodeRef>& calls) {
    members_.clear();
    for (const NodeRef at : calls) {
      if (const std::optional<Time> time = arrival_of(at)) members_.push_back({*time, at.place});
    }
    if (members_.size() < 2) return;
    ++result_.collectives;
    std::ranges::sort(members_, {}, &Member::time);
    const Member &last = members_.back(), &before = members_[members_.size() - 2];
    for (const Member& member : members_) {
      RankLateness& rank = result_.ranks[member.place];
      ++rank.collectives;
      rank.waited += last.time - member.time;
    }
    if (last.time == before.time) return;
    RankLateness& rank = result_.ranks[last.place];
    ++rank.last;
    rank.held_up += last.time - before.time;
    keep({.kind = kind_name(set_.node(calls.front())),
          .group = set_.groups[group].name,
          .number = number,
          .place = last.place,
          .late = last.time - before.time,
          .spread = last.time - members_.front().time});
  }

  Stragglers take() && { return std::move(result_); }

 private:
  std::optional<Time> arrival_of(NodeRef at) const {
    const std::vector<NodeArrival>& list = arrivals_[at.place];
    const auto found = std::ranges::lower_bound(list, at.node, {}, &NodeArrival::node);
    if (found == list.end() || found->node != at.node) return std::nullopt;
    return result_.clock_offsets.empty() ? found->time : found->time - result_.clock_offsets[at.place];
  }

  void keep(LateCall call) {
    std::vector<LateCall>& worst = result_.worst;
    const auto at = std::ranges::upper_bound(worst, call.late, std::ranges::greater(), &LateCall::late);
    if (at == worst.end() && worst.size() == Stragglers::kMostCalls) return;
    worst.insert(at, std::move(call));
    if (worst.size() > Stragglers::kMostCalls) worst.pop_back();
  }

  const RankSet& set_;
  const std::vector<std::vector<NodeArrival>>& arrivals_;
  Stragglers result_;
  std::vector<Member> members_;
};

}  // namespace

Stragglers find_stragglers(const RankSet& set, const Matches& matches,
                           const std::vector<std::vector<NodeArrival>>& arrivals, bool recorded) {
  Findings unused;
  StragglerFinder finder(set, arrivals, recorded ? clock_offsets(set, matches, unused) : std::vector<Duration>());
  for (uint32_t group = 0; group < matches.collectives.size(); ++group) {
    for (uint64_t n = 0; n < matches.collectives[group].size(); ++n)
      finder.add(group, n, matches.collectives[group][n]);
  }
  return std::move(finder).take();
}

}  // namespace rankwire
