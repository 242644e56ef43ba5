#include "emulator/engine/collective_order.h"

#include <algorithm>
#include <map>

namespace rankwire {

CollectiveOrder::CollectiveOrder(const RankTrace& trace, uint32_t at_once)
    : trace_(trace), at_once_(at_once), group_of_(trace.nodes.size(), kNone) {
  std::map<GroupId, uint32_t> known;
  for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
    const Node& node = trace.nodes[n];
    if (node.kind != NodeKind::kCollective) continue;
    const auto [entry, added] = known.try_emplace(node.group, static_cast<uint32_t>(groups_.size()));
    if (added) groups_.emplace_back();
    Group& group = groups_[entry->second];
    if (group.node_at.size() <= node.run_order) group.node_at.resize(node.run_order + 1, kNone);
    group.node_at[node.run_order] = n;
    group_of_[n] = entry->second;
  }
  for (Group& group : groups_) group.ready.resize(group.node_at.size());
}

uint32_t CollectiveOrder::begin() noexcept {
  if (at_once_ > 0 && running_ == at_once_) return kNone;
  Group* first = nullptr;
  uint32_t node = kNone;
  for (Group& group : groups_) {
    if (group.running || group.next == group.node_at.size() || !group.ready[group.next]) continue;
    const uint32_t candidate = group.node_at[group.next];
    if (first == nullptr || trace_.nodes[candidate].id < trace_.nodes[node].id) {
      first = &group;
      node = candidate;
    }
  }
  if (first == nullptr) return kNone;
  first->running = true;
  ++running_;
  return node;
}

void CollectiveOrder::reset() noexcept {
  for (Group& group : groups_) {
    group.next = 0;
    std::ranges::fill(group.ready, 0);
  }
}

std::vector<CollectiveOrder::HeldBack> CollectiveOrder::held_back() const {
  std::vector<HeldBack> held;
  for (const Group& group : groups_) {
    if (group.running || group.next == group.node_at.size()) continue;
    const auto next = group.ready.begin() + group.next;
    const auto ready = std::find(next, group.ready.end(), 1);
    if (ready == group.ready.end()) continue;
    held.push_back({.node = group.node_at[static_cast<size_t>(ready - group.ready.begin())],
                    .behind = ready == next ? kNone : group.node_at[group.next]});
  }
  return held;
}

}  // namespace rankwire
