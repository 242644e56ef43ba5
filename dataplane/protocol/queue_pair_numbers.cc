#include "dataplane/protocol/queue_pair_numbers.h"

#include "dataplane/protocol/message_parts.h"

namespace rankwire {
namespace {

bool has_queue_pairs(const Connection& connection) {
  return connection.path != Path::kLocal && !connection.reverse_of.valid();
}

}  // namespace

std::vector<QueuePairNumbers> number_queue_pairs(const TransportPlan& plan, uint32_t queue_pairs,
                                                 const std::function<bool(NicId)>& here) {
  std::vector<QueuePairNumbers> numbers(plan.connections.size());
  uint32_t next = QueuePairNumbers::kFirst;
  for (const Side side : {Side::kSource, Side::kDestination}) {
    const bool at_source = side == Side::kSource;
    for (const Connection& connection : plan.connections) {
      if (!has_queue_pairs(connection) || !here(at_source ? connection.source_nic : connection.destination_nic))
        continue;
      QueuePairNumbers& own = numbers[connection.id.value];
      (at_source ? own.source : own.destination) = next;
      next += queue_pairs;
    }
  }
  for (const Connection& connection : plan.connections) turn_ends(connection, numbers);
  return numbers;
}

size_t count_queue_pairs(const TransportPlan& plan, uint32_t queue_pairs, const std::function<bool(NicId)>& here) {
  size_t ends = 0;
  for (const Connection& connection : plan.connections)
    if (has_queue_pairs(connection))
      for (const NicId nic : {connection.source_nic, connection.destination_nic}) ends += here(nic);
  return ends * queue_pairs;
}

}  // namespace rankwire
