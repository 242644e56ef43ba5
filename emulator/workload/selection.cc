#include "emulator/workload/selection.h"

#include <fnmatch.h>

#include <algorithm>

namespace rankwire {
namespace {

constexpr NodeKind kSelectableKinds[] = {NodeKind::kCompute,    NodeKind::kHost, NodeKind::kMemory,
                                         NodeKind::kCollective, NodeKind::kSend, NodeKind::kReceive};

void check_kinds(const std::vector<std::string>& kinds) {
  std::vector<std::string> known;
  for (const NodeKind kind : kSelectableKinds) known.emplace_back(to_string(kind));
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::kBarrier); ++kind) {
    known.emplace_back(to_string(static_cast<CollectiveKind>(kind)));
  }
  for (const std::string& kind : kinds) {
    if (std::ranges::find(known, kind) == known.end()) {
      fail_input("select.kinds: kind \"{}\" is none of {}", kind, fmt::join(known, ", "));
    }
  }
}

}  // namespace

Selector::Selector(const Selection& selection)
    : selection_(selection),
      selects_all_(selection.names.empty() && selection.groups.empty() && selection.kinds.empty()),
      matched_(selection.names.size()) {
  check_kinds(selection.kinds);
}

void Selector::apply(Node& node, std::span<const Group> groups) {
  if (selects_all() || node.kind == NodeKind::kNone) return;
  if (selects_name(node) && selects_group(node, groups) && selects_kind(node)) return;
  node.kind = NodeKind::kNone;
  node.duration = Duration();
  node.timed_by = TimedBy::kNothing;
}

void Selector::check_groups(std::span<const Group> groups) const {
  for (const std::string& name : selection_.groups) {
    if (std::ranges::find(groups, name, &Group::name) != groups.end()) continue;
    constexpr size_t kNamed = 8;
    std::vector<std::string_view> known;
    for (const Group& group : groups.first(std::min(kNamed, groups.size()))) known.push_back(group.name);
    fail_input("select.groups: no group is named \"{}\"; there {} {}{}", name, groups.size() == 1 ? "is" : "are",
               known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
               groups.size() > kNamed ? ", ..." : "");
  }
}

void Selector::report(Warnings& warnings) const {
  for (size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) warnings.push_back(fmt::format("select.names: no node matches \"{}\"", selection_.names[i]));
  }
}

bool Selector::selects_name(const Node& node) {
  bool any = selection_.names.empty();
  const std::string name(any ? "" : node.name);
  for (size_t i = 0; i < selection_.names.size(); ++i) {
    if (fnmatch(selection_.names[i].c_str(), name.c_str(), 0) != 0) continue;
    matched_[i] = true;
    any = true;
  }
  return any;
}

bool Selector::selects_group(const Node& node, std::span<const Group> groups) const {
  if (selection_.groups.empty() || !is_communication(node.kind)) return true;
  return node.group.valid() &&
         std::ranges::find(selection_.groups, groups[node.group.value].name) != selection_.groups.end();
}

bool Selector::selects_kind(const Node& node) const {
  if (selection_.kinds.empty()) return true;
  return std::ranges::any_of(selection_.kinds, [&](const std::string& kind) {
    return kind == to_string(node.kind) || (node.kind == NodeKind::kCollective && kind == to_string(node.collective));
  });
}

void select_nodes(Selector& selector, std::span<const Group> groups, std::span<RankTrace> ranks, Warnings& warnings) {
  selector.check_groups(groups);
  if (selector.selects_all()) return;
  for (RankTrace& rank : ranks) {
    for (Node& node : rank.nodes) selector.apply(node, groups);
  }
  selector.report(warnings);
}

}  // namespace rankwire
