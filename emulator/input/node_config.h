// A trace written node by node: an item of `workload.nodes`. See converters/node_list.h for what the keys mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "converters/micro_cases.h"
#include "converters/node_list.h"

namespace rankwire {

/// Neighbouring ranks, both inclusive.
struct RankRange {
  uint32_t first = 0, last = 0;

  bool operator==(const RankRange&) const = default;
};

struct NodeConfig {
  std::string name;
  std::vector<RankRange> ranks;
  ActionKind kind = ActionKind::kCompute;
  Bytes size = Bytes(0);  ///< key `bytes`
  Duration duration;
  std::vector<RankRange> group, to, from;
  uint32_t tag = 0, root = 0;
  std::vector<std::string> after;
  uint32_t iterations = 1;

  bool operator==(const NodeConfig&) const = default;
};

/// With ranges written out. Of what is sent or received, `peers` are those of the key for its kind.
std::vector<ListedNode> listed_nodes(const std::vector<NodeConfig>& nodes);

}  // namespace rankwire
