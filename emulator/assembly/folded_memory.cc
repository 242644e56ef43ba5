#include "emulator/assembly/folded_memory.h"

#include <vector>

namespace rankwire {

LeftOut left_out(const Setup& setup) {
  LeftOut result;
  if (!setup.workload.folded) return result;
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank) {
    const RankTrace& trace = setup.workload.ranks[rank];
    for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
      const uint64_t others = trace.times_of(n) - 1;
      result.nodes += others;
      if (setup.plan.nodes.empty()) continue;
      const NodePlan& planned = setup.plan.nodes[rank][n];
      if (planned.schedule != NodePlan::kNone)
        result.edges += others * setup.plan.schedules[planned.schedule].edges.size();
    }
  }
  // A node's place in its file, and among those that communicate; an edge's at one of its ends.
  uint64_t of_node = sizeof(Node) + 2 * sizeof(uint32_t);
  if (!setup.plan.nodes.empty()) of_node += sizeof(NodePlan);
  const uint64_t bytes = result.nodes * of_node + result.edges * (sizeof(EdgePlan) + sizeof(EdgeMessages));
  result.setup = Bytes(static_cast<int64_t>(bytes)) + setup.workload.folded_names;
  return result;
}

}  // namespace rankwire
