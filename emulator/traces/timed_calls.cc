#include "emulator/traces/timed_calls.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "emulator/traces/clock_skew.h"

namespace rankwire {
namespace {

/// A member's call of the collective at hand.
struct Member {
  uint32_t place = 0;
  const TimedCall* call = nullptr;
};

/// The n-th calls of a group's members are one collective.
class SharedCalls {
 public:
  SharedCalls(const RankSet& set, std::span<const std::vector<TimedCall>> calls) : set_(set), calls_(calls) {
    for (uint32_t place = 0; place < calls.size(); ++place) {
      auto& of_group = of_group_.emplace_back();
      for (uint32_t i = 0; i < calls[place].size(); ++i) {
        const uint32_t group = set.group_of[place][calls[place][i].node];
        if (group != RankSet::kNone) of_group[group].push_back(i);
      }
    }
  }

  /// Hands each to `take`: the group, the number among the group's, and the members that have a file and so many calls.
  template <class Take>
  void each(Take take) const {
    std::vector<Member> members;
    std::vector<std::pair<uint32_t, const std::vector<uint32_t>*>> lists;
    for (uint32_t group = 0; group < set_.groups.size(); ++group) {
      lists.clear();
      size_t most = 0;
      for (const RankId member : set_.groups[group].members) {
        const uint32_t place = set_.place_of[member.value];
        if (place == RankSet::kNone) continue;
        const auto known = of_group_[place].find(group);
        if (known == of_group_[place].end()) continue;
        lists.emplace_back(place, &known->second);
        most = std::max(most, known->second.size());
      }
      for (size_t n = 0; n < most; ++n) {
        members.clear();
        for (const auto& list : lists) {
          if (n < list.second->size()) members.push_back({list.first, &calls_[list.first][(*list.second)[n]]});
        }
        take(group, n, members);
      }
    }
  }

 private:
  const RankSet& set_;
  const std::span<const std::vector<TimedCall>> calls_;
  std::vector<std::map<uint32_t, std::vector<uint32_t>>> of_group_;  ///< by place: of each group, places in `calls_`
};

}  // namespace

Stragglers find_recorded_stragglers(const RankSet& set, std::span<const std::vector<TimedCall>> calls) {
  const SharedCalls shared(set, calls);
  const auto node_of = [&](const Member& member) -> const NodeFacts& {
    return set.node({member.place, member.call->node});
  };
  MeetingClocks fit(set.ranks.size());
  std::vector<MeetingClocks::Call> spans;
  shared.each([&](uint32_t, size_t, const std::vector<Member>& members) {
    if (members.size() < 2 || !waits_for_all(node_of(members.front()))) return;
    spans.clear();
    for (const Member& member : members) {
      const Time start = member.call->start;
      spans.push_back({member.place, start, start + member.call->duration});
    }
    fit.add(spans);
  });
  StragglerFinder finder(set, fit.offsets());
  std::vector<StragglerFinder::Member> arrived;
  shared.each([&](uint32_t group, size_t number, const std::vector<Member>& members) {
    arrived.clear();
    for (const Member& member : members) arrived.push_back({member.call->arrival, member.place});
    finder.add(group, number, node_of(members.front()), arrived);
  });
  return std::move(finder).take();
}

}  // namespace rankwire
