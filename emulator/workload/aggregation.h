// Nodes inside the network that reduce, as further ranks behind those of the trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/workload/workload.h"

namespace rankwire {

struct AggregationNode {
  std::string name;
  std::optional<uint32_t> parent;  ///< index of the node above; none: the top, of which there is one
};

/// Adds a rank for each node, in their order, with a node of its own for each collective of `is_aggregated` that it
/// serves, ready from the start and in the order of its group. A group gets the part of the tree that joins its
/// members (Group::participants, Group::aggregation): up to the lowest node that is above all of them.
/// `leaf_of_rank[r]` is the index of the node that serves rank r of the trace. Groups of one member need none.
void add_aggregators(Workload& workload, std::span<const AggregationNode> nodes, std::span<const uint32_t> leaf_of_rank,
                     const std::function<bool(const Node&)>& is_aggregated);

}  // namespace rankwire
