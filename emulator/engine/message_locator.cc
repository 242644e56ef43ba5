#include "emulator/engine/message_locator.h"

#include "emulator/workload/jobs.h"

namespace rankwire {

// A message may arrive before its receiver has begun the operation, so that no state of that is asked.
MessageId MessageLocator::id_of(const MessagePlace& place) noexcept {
  const RankId rank = place.connection.destination;
  const EdgeMessages& edge = receiver_of(place);
  const NodePlan& node = plan_.nodes[rank.value][edge.node];
  const uint32_t step = plan_.schedules[node.schedule].edge_steps[edge.first_step + place.index - edge.first_index];
  return message_id(workload_, rank, edge.node, plan_.step(node, step), place.iteration);
}

std::string MessageLocator::text(const Event& event) const {
  const MessagePlace place = place_of(event);
  const MessageEnds ends = plan_.ends(event.connection, place.index);
  const RankId rank = place.connection.destination;
  const Step step = plan_.step(plan_.nodes[rank.value][ends.destination_node], ends.destination_step);
  return message_text(workload_, message_id(workload_, rank, ends.destination_node, step, place.iteration));
}

std::string MessageLocator::operation_name(const Event& event) const {
  const MessagePlace place = place_of(event);
  return node_name(place.connection.source, plan_.ends(event.connection, place.index).source_node);
}

std::string MessageLocator::node_name(RankId rank, uint32_t node) const {
  return std::string(workload_.ranks[rank.value].nodes[node].name);
}

}  // namespace rankwire
