#include "emulator/input/node_config.h"

namespace rankwire {
namespace {

std::vector<uint32_t> written_out(const std::vector<RankRange>& ranges) {
  std::vector<uint32_t> ranks;
  for (const RankRange& range : ranges)
    for (uint32_t rank = range.first; rank <= range.last; ++rank) ranks.push_back(rank);
  return ranks;
}

}  // namespace

std::vector<ListedNode> listed_nodes(const std::vector<NodeConfig>& nodes) {
  std::vector<ListedNode> listed;
  for (const NodeConfig& node : nodes) {
    listed.push_back({.name = node.name,
                      .ranks = written_out(node.ranks),
                      .kind = node.kind,
                      .size = node.size,
                      .duration = node.duration,
                      .group = written_out(node.group),
                      .peers = written_out(node.kind == ActionKind::kReceive ? node.from : node.to),
                      .tag = node.tag,
                      .root = node.root,
                      .after = node.after,
                      .iterations = node.iterations});
  }
  return listed;
}

}  // namespace rankwire
