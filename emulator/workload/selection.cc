#include "emulator/workload/selection.h"

#include <fnmatch.h>

#include <algorithm>

namespace rankwire {
namespace {

constexpr NodeKind kSelectableKinds[] = {NodeKind::kCompute,    NodeKind::kHost, NodeKind::kMemory,
                                         NodeKind::kCollective, NodeKind::kSend, NodeKind::kReceive};

bool is_communication(NodeKind kind) {
  return kind == NodeKind::kCollective || kind == NodeKind::kSend || kind == NodeKind::kReceive;
}

void check_kinds(const std::vector<std::string>& kinds) {
  std::vector<std::string> known;
  for (const NodeKind kind : kSelectableKinds) known.emplace_back(to_string(kind));
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::kBarrier); ++kind) {
    known.emplace_back(to_string(static_cast<CollectiveKind>(kind)));
  }
  for (const std::string& kind : kinds) {
    if (std::ranges::find(known, kind) == known.end()) {
      fail_input("selection: kind \"{}\" is none of {}", kind, fmt::join(known, ", "));
    }
  }
}

void check_groups(const std::vector<std::string>& names, std::span<const Group> groups) {
  for (const std::string& name : names) {
    if (std::ranges::find(groups, name, &Group::name) == groups.end()) {
      fail_input("selection: no group is named \"{}\"", name);
    }
  }
}

class Selector {
 public:
  Selector(const Selection& selection, std::span<const Group> groups)
      : selection_(selection), groups_(groups), matched_(selection.names.size()) {}

  bool selects(const Node& node) { return selects_name(node) && selects_group(node) && selects_kind(node); }

  void report(Warnings& warnings) const {
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (!matched_[i]) warnings.push_back(fmt::format("selection: no node matches \"{}\"", selection_.names[i]));
    }
  }

 private:
  bool selects_name(const Node& node) {
    bool any = selection_.names.empty();
    for (size_t i = 0; i < selection_.names.size(); ++i) {
      if (fnmatch(selection_.names[i].c_str(), node.name.c_str(), 0) != 0) continue;
      matched_[i] = true;
      any = true;
    }
    return any;
  }

  bool selects_group(const Node& node) const {
    if (selection_.groups.empty() || !is_communication(node.kind)) return true;
    return node.group.valid() &&
           std::ranges::find(selection_.groups, groups_[node.group.value].name) != selection_.groups.end();
  }

  bool selects_kind(const Node& node) const {
    if (selection_.kinds.empty()) return true;
    return std::ranges::any_of(selection_.kinds, [&](const std::string& kind) {
      return kind == to_string(node.kind) || (node.kind == NodeKind::kCollective && kind == to_string(node.collective));
    });
  }

  const Selection& selection_;
  std::span<const Group> groups_;
  std::vector<bool> matched_;
};

}  // namespace

void select_nodes(const Selection& selection, std::span<const Group> groups, std::span<RankTrace> ranks,
                  Warnings& warnings) {
  if (selection.names.empty() && selection.groups.empty() && selection.kinds.empty()) return;
  check_kinds(selection.kinds);
  check_groups(selection.groups, groups);
  Selector selector(selection, groups);
  for (RankTrace& rank : ranks) {
    for (Node& node : rank.nodes) {
      if (node.kind == NodeKind::kNone || selector.selects(node)) continue;
      node.kind = NodeKind::kNone;
      node.duration = Duration();
    }
  }
  selector.report(warnings);
}

}  // namespace rankwire
