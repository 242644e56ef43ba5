#include "emulator/workload/aggregation.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rankwire {
namespace {

/// The nodes from a leaf to the top, the leaf first.
std::vector<uint32_t> way_up(std::span<const AggregationNode> nodes, uint32_t leaf) {
  std::vector<uint32_t> way{leaf};
  while (nodes[way.back()].parent) way.push_back(*nodes[way.back()].parent);
  return way;
}

/// The lowest node that is on every member's way up.
uint32_t common_node(std::span<const AggregationNode> nodes, const Group& group, std::span<const uint32_t> leaf_of) {
  std::vector<uint32_t> common = way_up(nodes, leaf_of[group.members.front().value]);
  for (const RankId member : group.members) {
    const std::vector<uint32_t> way = way_up(nodes, leaf_of[member.value]);
    std::erase_if(common, [&](uint32_t node) { return std::ranges::find(way, node) == way.end(); });
  }
  return common.front();
}

/// The group's part of the tree; nodes are ranks from `first` on.
void join_members(Group& group, std::span<const AggregationNode> nodes, std::span<const uint32_t> leaf_of,
                  uint32_t first) {
  const uint32_t top = common_node(nodes, group, leaf_of);
  std::map<uint32_t, uint32_t> position_of;  // by node
  group.participants = group.members;
  const auto position = [&](uint32_t node) {
    const auto next = static_cast<uint32_t>(group.participants.size());
    const auto [known, added] = position_of.try_emplace(node, next);
    if (added) group.participants.push_back(RankId(first + node));
    return known->second;
  };
  std::map<uint32_t, uint32_t> above;  // by position
  for (uint32_t m = 0; m < group.members.size(); ++m) {
    uint32_t node = leaf_of[group.members[m].value];
    for (above[m] = position(node); node != top; node = *nodes[node].parent)
      above[position(node)] = position(*nodes[node].parent);
  }
  above[position(top)] = position(top);
  for (const auto& [lower, upper] : above) group.aggregation.push_back(upper);
}

/// The aggregated collectives of a member, as the aggregators of its group have them: in file order, the order of
/// running counted among themselves.
std::vector<Node> served_nodes(const RankTrace& trace, GroupId group,
                               const std::function<bool(const Node&)>& is_aggregated) {
  std::vector<Node> served;
  for (const Node& node : trace.nodes) {
    if (node.kind != NodeKind::kCollective || node.group != group || !is_aggregated(node)) continue;
    Node& copy = served.emplace_back(node);
    copy.name = to_string(node.collective);
    copy.recorded.reset();
  }
  std::vector<uint32_t> order;
  for (const Node& node : served) order.push_back(node.run_order);
  std::ranges::sort(order);
  for (Node& node : served)
    node.run_order = static_cast<uint32_t>(std::ranges::lower_bound(order, node.run_order) - order.begin());
  return served;
}

void append(RankTrace& trace, std::span<const Node> nodes) {
  for (const Node& node : nodes) {
    const auto index = static_cast<uint32_t>(trace.nodes.size());
    trace.nodes.push_back(node);
    trace.nodes.back().id = index;
    trace.communicating.push_back(index);
    trace.dependencies.push_back(0);
    trace.successor_begin.push_back(0);
  }
}

}  // namespace

void add_aggregators(Workload& workload, std::span<const AggregationNode> nodes, std::span<const uint32_t> leaf_of_rank,
                     const std::function<bool(const Node&)>& is_aggregated) {
  const auto first = static_cast<uint32_t>(workload.ranks.size());
  for (const AggregationNode& node : nodes)
    workload.ranks.push_back({.file = "aggregator " + node.name,
                              .streamed = {},
                              .aggregates = true,
                              .in_order = true,
                              .ids_count_up = true,
                              .successor_begin = {0}});
  for (uint32_t g = 0; g < workload.groups.size(); ++g) {
    Group& group = workload.groups[g];
    if (group.members.size() < 2) continue;
    const std::vector<Node> served =
        served_nodes(workload.ranks[group.members.front().value], GroupId(g), is_aggregated);
    if (served.empty()) continue;
    join_members(group, nodes, leaf_of_rank, first);
    for (size_t p = group.members.size(); p < group.participants.size(); ++p)
      append(workload.ranks[group.participants[p].value], served);
  }
}

}  // namespace rankwire
