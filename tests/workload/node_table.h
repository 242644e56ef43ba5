// Workloads as text, to be compared.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "emulator/workload/node_stream.h"
#include "emulator/workload/workload.h"

namespace rankwire::testing {

/// Everything that a user of nodes could see of one.
inline std::string shown(const Node& node) {
  return fmt::format("{} {} {} {} {} group {} peer {} sequence {} order {} tag {} {} {} B {} ops {} B {} ps of {}",
                     node.id, node.name, to_string(node.kind), to_string(node.collective), node.recorded.has_value(),
                     node.group.value, node.peer.value, node.sequence, node.run_order, node.tag, node.tag_ordinal,
                     node.bytes.count, node.operations, node.tensor.count, node.duration.ps,
                     node.recorded.value_or(Duration()).ps);
}

/// A row for each node of a workload, whether it is in memory or not.
inline std::vector<std::string> table(const Workload& workload) {
  std::vector<std::string> rows;
  for_each_node(workload, [&](RankId rank, uint32_t place, const Node& node) {
    rows.push_back(fmt::format("{} {} {}", rank.value, place, shown(node)));
  });
  return rows;
}

}  // namespace rankwire::testing
