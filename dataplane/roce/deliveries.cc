#include "dataplane/roce/deliveries.h"

namespace rankwire {

void Deliveries::open(ConnectionId connection, uint32_t index) noexcept {
  if (pairs_.is_split(pairs_.connections[connection.value])) assembly_.open(connection, index, options_.queue_pairs);
}

void Deliveries::deliver(uint32_t queue_pair, uint32_t index, const ReceivedPart& part, uint32_t receives) noexcept {
  const std::optional<Event> event = complete(queue_pair, index, part);
  if (!event) return;
  const ConnectionEnds& ends = pairs_.connections[event->connection.value];
  const Delivery delivery = pairs_.is_split(ends) ? Delivery{*event, ends.destination, options_.queue_pairs}
                                                  : Delivery{*event, queue_pair, receives};
  waiting_.push({&delivery, 1});
}

std::optional<Event> Deliveries::complete(uint32_t queue_pair, uint32_t index, const ReceivedPart& part) noexcept {
  const ConnectionId connection = pairs_.ends[queue_pair].inbound;
  ReceivedPart message = part;
  if (pairs_.is_split(pairs_.connections[connection.value])) {
    const MessageAssembly::Progress progress = assembly_.add(connection, index, options_.queue_pairs, part);
    if (progress.missing > 0) return std::nullopt;
    message = progress.message;
  }
  if (!message.payload_good) ++counters_.totals.payload_errors;
  ++(message.failure == Failure::kNone ? counters_.totals.messages_delivered : counters_.totals.messages_failed);
  return received_event(connection, index, message);
}

void Deliveries::deliver_unindexed(uint32_t queue_pair, uint32_t index, const ReceivedPart& part,
                                   uint32_t receives) noexcept {
  const Delivery delivery{received_event(pairs_.ends[queue_pair].inbound, index, part), queue_pair, receives};
  waiting_.push({&delivery, 1});
}

size_t Deliveries::take(std::span<Event> events) noexcept {
  size_t n = 0;
  for (Delivery delivery; n < events.size() && waiting_.pop({&delivery, 1}) == 1; ++n) {
    events[n] = delivery.event;
    for (uint32_t i = 0; i < delivery.receives; ++i) pairs_.responders[delivery.queue_pair + i].post_receives(1);
  }
  return n;
}

}  // namespace rankwire
