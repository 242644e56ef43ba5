// RoceTransport's messages at their destination: from the payload to the event.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "dataplane/protocol/rendezvous.h"
#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

/// A message whose one-way latency is measured is looked for among so many of the oldest at its source.
constexpr uint32_t kOneWayReach = 64;

std::span<const uint8_t> payload_of(const ParsedPacket& packet) {
  return {packet.payload, packet.payload_length};
}

}  // namespace

// Whether there is memory for the message that the request is the end or the announcement of. A request that is not
// admitted is as good as lost: the peer repeats it. What is known already always finds its place, so there is progress.
bool RoceTransport::admits(const QueuePairEnd& end, const ParsedPacket& packet) const noexcept {
  if (!end.inbound.valid()) return true;
  if (layout_of(packet.opcode).immediate) return deliveries_->admits(end.inbound, packet.immediate);
  if (options_.verb != DataVerb::kRead || packet.opcode != Opcode::kSendOnly) return true;
  const auto ready = control_message<ReadyToSend>(payload_of(packet));
  return !ready || (!outbound_->gets.full() && deliveries_->admits(end.inbound, ready->index.value()));
}

// Whether the request may be followed by others of the same message: RDMA devices send long messages as several WRITEs,
// the last with the immediate.
bool RoceTransport::may_be_segment(Verb verb) const noexcept {
  return verb == Verb::kWrite && options_.unindexed == UnindexedMessages::kIgnored &&
         (options_.verb == DataVerb::kWriteImm || options_.verb == DataVerb::kWriteThenImm);
}

void RoceTransport::on_payload(uint32_t queue_pair, const ParsedPacket& packet, const Reception& reception,
                               Time arrival) noexcept {
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  QueuePairInbox& inbox = pairs_->inboxes[queue_pair];
  if (reception.first && inbox.awaits_immediate && !has_immediate(reception.verb) && !may_be_segment(reception.verb))
    end_unindexed(queue_pair, arrival, 0);
  if (reception.first && !inbox.awaits_immediate) {
    inbox.first_rx = arrival;
    inbox.marks = 0;
  }
  if (packet.ecn == Ecn::kCongestionExperienced) {
    ++inbox.marks;
    ++counters_->of[queue_pair].marks;
  }
  if (end.inbound.valid() && pairs_->connections[end.inbound.value].control && reception.verb == Verb::kWrite) {
    if (reception.last) on_control(queue_pair, packet, arrival);
  } else if (options_.verb == DataVerb::kRead && reception.verb == Verb::kSend) {
    // What has a meaning here fits into one packet.
    if (reception.last)
      on_rendezvous(queue_pair, reception.first ? payload_of(packet) : std::span<const uint8_t>(), arrival);
  } else {
    // The immediate of a WRITE that has been compared comes with nothing more.
    if (options_.payload == PayloadMode::kChecking && !(inbox.awaits_immediate && packet.payload_length == 0))
      inbox.check.add(inbox.awaited_bytes + reception.offset, payload_of(packet));
    if (reception.last) on_message(queue_pair, reception, arrival);
  }
}

void RoceTransport::on_message(uint32_t queue_pair, const Reception& reception, Time arrival) noexcept {
  QueuePairInbox& inbox = pairs_->inboxes[queue_pair];
  inbox.awaited_bytes += reception.message_bytes;
  if (may_be_segment(reception.verb) || (options_.verb == DataVerb::kWriteThenImm && reception.verb == Verb::kWrite)) {
    inbox.awaits_immediate = true;
  } else if (has_immediate(reception.verb) && pairs_->ends[queue_pair].inbound.valid()) {
    measure_one_way(queue_pair, reception.verb, reception.immediate, arrival);
    deliveries_->deliver(queue_pair, reception.immediate, end_reception(queue_pair, arrival), 1);
  } else {
    end_unindexed(queue_pair, arrival, consumes_receive(reception.verb) ? 1 : 0);
  }
}

void RoceTransport::on_read(uint32_t queue_pair, const Reception& reception, Time arrival) noexcept {
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  const bool rendezvous = options_.verb == DataVerb::kRead && end.at_source;
  if (rendezvous) return;
  ++counters_->details.unindexed;
  if (options_.unindexed != UnindexedMessages::kReported || !end.inbound.valid()) return;
  const ReceivedPart request{.first_rx = arrival, .delivered = arrival, .bytes = reception.message_bytes};
  deliveries_->deliver_unindexed(queue_pair, pairs_->inboxes[queue_pair].unindexed++, request, 0);
}

// A SEND or WRITE by which a foreign peer names no message.
void RoceTransport::end_unindexed(uint32_t queue_pair, Time arrival, uint32_t receives) noexcept {
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  const ReceivedPart part = end_reception(queue_pair, arrival);
  ++counters_->details.unindexed;
  if (!part.payload_good) ++counters_->totals.payload_errors;
  const uint32_t index = pairs_->inboxes[queue_pair].unindexed++;
  if (options_.unindexed == UnindexedMessages::kReported && end.inbound.valid()) {
    ++counters_->totals.messages_delivered;
    deliveries_->deliver_unindexed(queue_pair, index, part, receives);
  } else {
    pairs_->responders[queue_pair].post_receives(receives);
  }
}

// What the queue pair has received since its last message.
ReceivedPart RoceTransport::end_reception(uint32_t queue_pair, Time arrival) noexcept {
  QueuePairInbox& inbox = pairs_->inboxes[queue_pair];
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

void RoceTransport::on_control(uint32_t queue_pair, const ParsedPacket& packet, Time arrival) noexcept {
  QueuePairInbox& inbox = pairs_->inboxes[queue_pair];
  const std::span<const uint8_t> payload = payload_of(packet);
  inbox.awaited_bytes = packet.payload_length;
  if (payload.size() < sizeof(uint32_t)) return end_unindexed(queue_pair, arrival, 0);
  uint32_t index;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&index, payload.data(), sizeof index);
  if (options_.payload == PayloadMode::kChecking)
    inbox.check.add(0, payload.subspan(std::min<size_t>(payload.size(), kControlHeader)));
  measure_one_way(queue_pair, Verb::kWrite, index, arrival);
  deliveries_->deliver(queue_pair, index, end_reception(queue_pair, arrival), 0);
}

void RoceTransport::on_rendezvous(uint32_t queue_pair, std::span<const uint8_t> payload, Time arrival) noexcept {
  const auto ready = control_message<ReadyToSend>(payload);
  if (ready && take_up(queue_pair, *ready)) return;
  const auto finished = control_message<GetFinished>(payload);
  if (!finished || !end_offer(queue_pair, finished->cookie.value(), arrival)) ++counters_->details.unknown_offers;
  pairs_->responders[queue_pair].post_receives(1);
}

// The receive that the offer consumed is posted again when the application has taken the message.
bool RoceTransport::take_up(uint32_t queue_pair, const ReadyToSend& ready) noexcept {
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  const uint32_t bytes = ready.length.value();
  if (!end.inbound.valid() || bytes > INT32_MAX || packets_of(bytes, options_.mtu) > kMaxReadPackets) return false;
  const uint32_t index = ready.index.value();
  deliveries_->open(end.inbound, index);
  const uint32_t get = outbound_->gets.take();
  outbound_->gets[get].cookie = ready.cookie.value();
  OutboundMessage request;
  request.posted = last_now_;
  request.verb = Verb::kRead;
  request.bytes = bytes;
  request.remote_address = ready.address.value();
  request.rkey = ready.rkey.value();
  request.immediate = request.index = index;
  request.queue_pair = queue_pair;
  request.context = RequestContext(Purpose::kGet, get).bits();
  post_request(request);
  return true;
}

bool RoceTransport::end_offer(uint32_t queue_pair, uint32_t cookie, Time arrival) noexcept {
  // READs of a queue pair are answered in order.
  if (const uint32_t oldest = outbound_->oldest_offer(queue_pair); oldest == kNone || oldest != cookie) return false;
  const Offer& offer = outbound_->offers[cookie];
  outbound_->pop_offer(queue_pair);
  Transfer& transfer = outbound_->transfers[offer.transfer];
  transfer.acked = std::max(transfer.acked, arrival);
  ++pairs_->ends[queue_pair].messages;
  pairs_->ends[queue_pair].bytes += offer.bytes;
  outbound_->close_offer(cookie, Failure::kNone);
  return true;
}

void RoceTransport::on_fetched(uint32_t queue_pair, const ParsedPacket& packet, const ReadReception& reception,
                               Time arrival) noexcept {
  const OutboundMessage& request = outbound_->pool.messages[reception.message];
  const uint32_t get_slot = RequestContext(request).subject();
  Get& get = outbound_->gets[get_slot];
  get.first_rx = std::min(get.first_rx, arrival);
  if (packet.ecn == Ecn::kCongestionExperienced) {
    ++get.marks;
    ++counters_->of[queue_pair].marks;
  }
  if (options_.payload == PayloadMode::kChecking) get.check.add(reception.offset, payload_of(packet));
  if (!reception.last) return;

  OutboundMessage finished;
  finished.posted = last_now_;
  finished.verb = Verb::kSend;
  finished.bytes = sizeof(GetFinished);
  finished.immediate = finished.index = request.index;
  finished.queue_pair = queue_pair;
  finished.context = RequestContext(Purpose::kGetFinished, get_slot).bits();
  post_request(finished);

  ReceivedPart part{.first_rx = get.first_rx, .delivered = arrival, .bytes = request.bytes, .marks = get.marks};
  if (options_.payload == PayloadMode::kChecking) {
    part.key = get.check.key();
    part.payload_good = get.check.matches();
  }
  ++pairs_->inboxes[queue_pair].delivered;
  // The cookie is what the peer says.
  if (pairs_->ends[queue_pair].peer != kNone && get.cookie < outbound_->offers.size())
    latencies_.add_one_way(lanes_->port_index(pairs_->ends[queue_pair].lane), outbound_->offers[get.cookie].last_tx,
                           arrival);
  deliveries_->deliver(queue_pair, request.index, part, 1);
}

std::optional<Event> RoceTransport::fail_get(const OutboundMessage& request) noexcept {
  outbound_->gets.give_back(RequestContext(request).subject());
  return deliveries_->complete(request.queue_pair, request.index, {.failure = request.failure});
}

// From the last packet of the message, which is among the oldest that the other end has not finished.
void RoceTransport::measure_one_way(uint32_t queue_pair, Verb verb, uint32_t index, Time arrival) noexcept {
  const uint32_t peer = pairs_->ends[queue_pair].peer;
  if (peer == kNone || !latencies_.take_turn()) return;
  const uint32_t port = lanes_->port_index(pairs_->ends[queue_pair].lane);
  uint32_t slot = pairs_->requesters[peer].oldest_message();
  for (uint32_t i = 0; i < kOneWayReach && slot != OutboundMessage::kNone;
       ++i, slot = outbound_->pool.messages[slot].next) {
    const OutboundMessage& message = outbound_->pool.messages[slot];
    if (message.index == index && message.verb == verb) return latencies_.add_one_way(port, message.last_tx, arrival);
  }
}

}  // namespace rankwire
