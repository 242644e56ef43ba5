#include "emulator/traces/recorded_path.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace rankwire {
namespace {

class PathWalk {
 public:
  PathWalk(const RankSet& set, const Matches& matches, const std::vector<std::vector<Span>>& spans)
      : set_(set), spans_(spans), before_(set.ranks.size()) {
    for (const auto& numbered : matches.collectives) {
      for (const std::vector<NodeRef>& members : numbered) {
        for (const NodeRef at : members) members_[key(at)] = &members;
      }
    }
    for (const auto& [send, receive] : matches.messages) send_of_[key(receive)] = send;
  }

  std::vector<PathStep> run() {
    std::vector<PathStep> steps;
    std::optional<NodeRef> at = last_node();
    Time until = at ? span(*at).end : Time(0);
    while (at) {
      at = last_member(*at, until);
      const Time start = span(*at).start;
      if (start < until) steps.push_back({*at, {start, until}});
      until = std::min(until, start);
      at = cause_of(*at);
      if (at) until = std::min(until, span(*at).end);
    }
    std::ranges::reverse(steps);
    return steps;
  }

 private:
  static uint64_t key(NodeRef at) { return uint64_t{at.place} << 32 | at.node; }
  const Span& span(NodeRef at) const { return spans_[at.place][at.node]; }

  std::optional<NodeRef> last_node() const {
    std::optional<NodeRef> last;
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      for (uint32_t i = 0; i < set_.ranks[place].nodes.size(); ++i) {
        if (set_.ranks[place].nodes[i].kind == NodeKind::kNone) continue;
        if (!last || span({place, i}).end > span(*last).end) last = NodeRef{place, i};
      }
    }
    return last;
  }

  /// Of a collective the member that began last, unless clocks contradict each other so that it began after all of it.
  NodeRef last_member(NodeRef at, Time until) const {
    const auto found = members_.find(key(at));
    if (found == members_.end()) return at;
    const NodeRef last = std::ranges::max(*found->second, {}, [&](NodeRef member) { return span(member).start; });
    return span(last).start > span(at).start && span(last).start < until ? last : at;
  }

  /// What the node waited for last; always one that began before, or at the same time and stands before it.
  std::optional<NodeRef> cause_of(NodeRef at) {
    std::optional<NodeRef> best;
    const auto consider = [&](NodeRef other) {
      const auto order = [&](NodeRef node) { return std::pair(span(node).start, key(node)); };
      if (order(other) >= order(at)) return;
      const auto worth = [&](NodeRef node) { return std::pair(std::min(span(node).end, span(at).start), order(node)); };
      if (!best || worth(other) > worth(*best)) best = other;
    };
    const RankFacts& facts = set_.ranks[at.place];
    for (const uint64_t id : facts.carried().of(at.node)) {
      const std::optional<uint32_t> parent = facts.find(id);
      if (parent && facts.nodes[*parent].kind != NodeKind::kNone) consider({at.place, *parent});
    }
    if (const uint32_t before = before_on_lane(at); before != RankSet::kNone) consider({at.place, before});
    if (const auto send = send_of_.find(key(at)); send != send_of_.end()) consider(send->second);
    return best;
  }

  /// What the stream or thread of the node did before it.
  uint32_t before_on_lane(NodeRef at) {
    std::vector<uint32_t>& before = before_[at.place];
    const std::vector<NodeFacts>& nodes = set_.ranks[at.place].nodes;
    if (before.empty()) {
      before.assign(nodes.size(), RankSet::kNone);
      std::vector<uint32_t> order(nodes.size());
      std::iota(order.begin(), order.end(), 0u);
      std::ranges::stable_sort(order, {}, [&](uint32_t i) { return spans_[at.place][i].start; });
      std::map<std::pair<bool, int64_t>, uint32_t> lanes;
      for (const uint32_t i : order) {
        if (nodes[i].kind == NodeKind::kNone || !nodes[i].stream) continue;
        const auto [lane, added] = lanes.try_emplace({nodes[i].on_cpu, *nodes[i].stream}, i);
        if (!added) before[i] = std::exchange(lane->second, i);
      }
    }
    return before[at.node];
  }

  const RankSet& set_;
  const std::vector<std::vector<Span>>& spans_;
  std::vector<std::vector<uint32_t>> before_;  ///< by place, made when it is needed
  std::unordered_map<uint64_t, const std::vector<NodeRef>*> members_;
  std::unordered_map<uint64_t, NodeRef> send_of_;
};

}  // namespace

std::vector<PathStep> recorded_path(const RankSet& set, const Matches& matches,
                                    const std::vector<std::vector<Span>>& spans) {
  return PathWalk(set, matches, spans).run();
}

}  // namespace rankwire
