#include "emulator/traces/node_names.h"

#include <algorithm>

namespace rankwire {

std::string kind_name(const NodeFacts& node) {
  if (node.kind != NodeKind::kCollective) return to_string(node.kind);
  const int64_t kind = node.collective.value_or(0);
  const bool known = kind >= 0 && kind <= static_cast<int64_t>(CollectiveKind::kBarrier);
  return known ? to_string(static_cast<CollectiveKind>(kind)) : "unknown";
}

std::string group_name(const RankSet& set, NodeRef at) {
  const uint32_t group = set.group_of[at.place][at.node];
  if (group != RankSet::kNone) return set.groups[group].name;
  return set.ranks[at.place].group_names[set.node(at).group];
}

Bytes bytes_of(const NodeFacts& node, Bytes element) {
  const bool barrier =
      node.kind == NodeKind::kCollective && node.collective == static_cast<int64_t>(CollectiveKind::kBarrier);
  if (!node.communicates() || barrier) return Bytes();
  return Bytes(std::clamp<int64_t>(node.size.value_or(0), 0, kMaxOperationBytes / element.count) * element.count);
}

}  // namespace rankwire
