#include "emulator/assembly/aggregators.h"

#include <algorithm>
#include <vector>

#include "emulator/engine/plan.h"
#include "emulator/workload/aggregation.h"

namespace rankwire {

void add_aggregators(Setup& setup) {
  const std::vector<AggregatorConfig>& aggregators = setup.config.collectives.aggregators;
  if (aggregators.empty()) return;
  std::vector<AggregationNode> nodes;
  for (const AggregatorConfig& aggregator : aggregators) {
    AggregationNode& node = nodes.emplace_back(AggregationNode{.name = aggregator.name, .parent = {}});
    const auto parent = std::ranges::find(aggregators, aggregator.parent, &AggregatorConfig::name);
    if (!aggregator.parent.empty()) node.parent = static_cast<uint32_t>(parent - aggregators.begin());
  }
  std::vector<uint32_t> leaf_of_rank;
  for (size_t rank = 0; rank < setup.workload.ranks.size(); ++rank) {
    const std::string& port = setup.config.ports[setup.placement.ranks[rank].port.value].name;
    const auto serves = [&](const AggregatorConfig& aggregator) {
      return aggregators.size() == 1 || std::ranges::find(aggregator.ports, port) != aggregator.ports.end();
    };
    leaf_of_rank.push_back(static_cast<uint32_t>(std::ranges::find_if(aggregators, serves) - aggregators.begin()));
  }
  const auto is_aggregated = [&](const Node& node) {
    const auto operation = static_cast<size_t>(operation_of(node));
    return setup.config.collectives.algorithms[operation].algorithm == Algorithm::kInNetwork;
  };
  add_aggregators(setup.workload, nodes, leaf_of_rank, is_aggregated);
}

}  // namespace rankwire
