#include "dataplane/roce/message_receiver.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "dataplane/protocol/message_parts.h"

namespace rankwire {
namespace {

/// A message whose one-way latency is measured is looked for among so many of the oldest at its source.
constexpr uint32_t kOneWayReach = 64;

std::span<const uint8_t> payload_of(const ParsedPacket& packet) {
  return {packet.payload, packet.payload_length};
}

}  // namespace

bool MessageReceiver::admits(uint32_t queue_pair, const ParsedPacket& packet) const noexcept {
  const ConnectionId inbound = tables_.ends[queue_pair].inbound;
  if (!inbound.valid()) return true;
  if (layout_of(packet.opcode).immediate) return deliveries_.admits(inbound, packet.immediate);
  if (options_.verb != DataVerb::kRead || packet.opcode != Opcode::kSendOnly) return true;
  return rendezvous_.admits(inbound, payload_of(packet));
}

// Whether the request may be followed by others of the same message: RDMA devices send long messages as several WRITEs,
// the last with the immediate.
bool MessageReceiver::may_be_segment(Verb verb) const noexcept {
  return verb == Verb::kWrite && options_.unindexed == UnindexedMessages::kIgnored &&
         (options_.verb == DataVerb::kWriteImm || options_.verb == DataVerb::kWriteThenImm);
}

void MessageReceiver::on_payload(uint32_t queue_pair, const ParsedPacket& packet, const Reception& reception,
                                 Time arrival, Time now) noexcept {
  const QueuePairEnd& end = tables_.ends[queue_pair];
  QueuePairInbox& inbox = tables_.inboxes[queue_pair];
  if (reception.first && inbox.awaits_immediate && !has_immediate(reception.verb) && !may_be_segment(reception.verb))
    end_unindexed(queue_pair, arrival, 0);
  if (reception.first && !inbox.awaits_immediate) {
    inbox.first_rx = arrival;
    inbox.marks = 0;
  }
  if (packet.ecn == Ecn::kCongestionExperienced) {
    ++inbox.marks;
    ++counters_.of[queue_pair].marks;
  }
  if (end.inbound.valid() && pairs_.connections[end.inbound.value].control && reception.verb == Verb::kWrite) {
    if (reception.last) on_control(queue_pair, packet, arrival);
  } else if (options_.verb == DataVerb::kRead && reception.verb == Verb::kSend) {
    // What has a meaning here fits into one packet.
    if (reception.last)
      rendezvous_.on_message(queue_pair, reception.first ? payload_of(packet) : std::span<const uint8_t>(), arrival,
                             now);
  } else {
    // The immediate of a WRITE that has been compared comes with nothing more.
    if (options_.payload == PayloadMode::kChecking && !(inbox.awaits_immediate && packet.payload_length == 0))
      inbox.check.add(inbox.awaited_bytes + reception.offset, payload_of(packet));
    if (reception.last) on_message(queue_pair, reception, arrival);
  }
}

void MessageReceiver::on_message(uint32_t queue_pair, const Reception& reception, Time arrival) noexcept {
  QueuePairInbox& inbox = tables_.inboxes[queue_pair];
  inbox.awaited_bytes += reception.message_bytes;
  if (may_be_segment(reception.verb) || (options_.verb == DataVerb::kWriteThenImm && reception.verb == Verb::kWrite)) {
    inbox.awaits_immediate = true;
  } else if (has_immediate(reception.verb) && tables_.ends[queue_pair].inbound.valid()) {
    measure_one_way(queue_pair, reception.verb, reception.immediate, arrival);
    deliveries_.deliver(queue_pair, reception.immediate, end_reception(queue_pair, arrival), 1);
  } else {
    end_unindexed(queue_pair, arrival, consumes_receive(reception.verb) ? 1 : 0);
  }
}

void MessageReceiver::on_read(uint32_t queue_pair, const Reception& reception, Time arrival) noexcept {
  const QueuePairEnd& end = tables_.ends[queue_pair];
  const bool rendezvous = options_.verb == DataVerb::kRead && end.at_source;
  if (rendezvous) return;
  ++counters_.details.unindexed;
  if (options_.unindexed != UnindexedMessages::kReported || !end.inbound.valid()) return;
  const ReceivedPart request{.first_rx = arrival, .delivered = arrival, .bytes = reception.message_bytes};
  deliveries_.deliver_unindexed(queue_pair, tables_.inboxes[queue_pair].unindexed++, request, 0);
}

// A SEND or WRITE by which a foreign peer names no message.
void MessageReceiver::end_unindexed(uint32_t queue_pair, Time arrival, uint32_t receives) noexcept {
  const QueuePairEnd& end = tables_.ends[queue_pair];
  const ReceivedPart part = end_reception(queue_pair, arrival);
  ++counters_.details.unindexed;
  if (!part.payload_good) ++counters_.totals.payload_errors;
  const uint32_t index = tables_.inboxes[queue_pair].unindexed++;
  if (options_.unindexed == UnindexedMessages::kReported && end.inbound.valid()) {
    ++counters_.totals.messages_delivered;
    deliveries_.deliver_unindexed(queue_pair, index, part, receives);
  } else {
    tables_.responders[queue_pair].post_receives(receives);
  }
}

// What the queue pair has received since its last message.
ReceivedPart MessageReceiver::end_reception(uint32_t queue_pair, Time arrival) noexcept {
  QueuePairInbox& inbox = tables_.inboxes[queue_pair];
  ReceivedPart part{.first_rx = inbox.first_rx,
                    .delivered = arrival,
                    .bytes = std::exchange(inbox.awaited_bytes, 0),
                    .marks = inbox.marks};
  inbox.awaits_immediate = false;
  ++inbox.delivered;
  if (options_.payload == PayloadMode::kChecking) {
    part.key = inbox.check.key();
    part.payload_good = inbox.check.matches();
  }
  return part;
}

void MessageReceiver::on_control(uint32_t queue_pair, const ParsedPacket& packet, Time arrival) noexcept {
  QueuePairInbox& inbox = tables_.inboxes[queue_pair];
  const std::span<const uint8_t> payload = payload_of(packet);
  inbox.awaited_bytes = packet.payload_length;
  if (payload.size() < sizeof(uint32_t)) return end_unindexed(queue_pair, arrival, 0);
  uint32_t index;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&index, payload.data(), sizeof index);
  if (options_.payload == PayloadMode::kChecking)
    inbox.check.add(0, payload.subspan(std::min<size_t>(payload.size(), kControlHeader)));
  measure_one_way(queue_pair, Verb::kWrite, index, arrival);
  deliveries_.deliver(queue_pair, index, end_reception(queue_pair, arrival), 0);
}

// From the last packet of the message, which is among the oldest that the other end has not finished. Of one whose
// packets were sent again nobody knows which copy has arrived.
void MessageReceiver::measure_one_way(uint32_t queue_pair, Verb verb, uint32_t index, Time arrival) noexcept {
  const uint32_t peer = tables_.ends[queue_pair].peer;
  if (peer == QueuePairs::kNone || !latencies_.take_turn()) return;
  const uint32_t port = lanes_.port_index(tables_.ends[queue_pair].lane);
  uint32_t slot = tables_.requesters[peer].oldest_message();
  for (uint32_t i = 0; i < kOneWayReach && slot != OutboundMessage::kNone;
       ++i, slot = outbound_.pool.messages[slot].next) {
    const OutboundMessage& message = outbound_.pool.messages[slot];
    if (message.index != index || message.verb != verb) continue;
    if (message.retransmissions == 0) latencies_.add_one_way(port, message.last_tx, arrival);
    return;
  }
}

}  // namespace rankwire
