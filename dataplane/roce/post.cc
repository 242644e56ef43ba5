// RoceTransport's messages at their source: from the posting to the event.
#include <algorithm>
#include <cassert>
#include <utility>

#include "dataplane/protocol/rendezvous.h"
#include "dataplane/roce/transport.h"
#include "fabric/network.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

constexpr Verb final_verb(DataVerb verb) {
  switch (verb) {
    case DataVerb::kWriteImm:
    case DataVerb::kWriteThenImm:
      return Verb::kWriteImmediate;
    case DataVerb::kSendImm:
      return Verb::kSendImmediate;
    case DataVerb::kWrite:
      return Verb::kWrite;
    case DataVerb::kSend:
    case DataVerb::kRead:
      return Verb::kSend;
  }
  return Verb::kWriteImmediate;
}

constexpr bool has_one_request(DataVerb verb) {
  return verb != DataVerb::kWriteThenImm && verb != DataVerb::kRead;
}

// DataVerb::kWriteThenImm: the WRITE, whose message ends with another request.
bool has_following_immediate(const OutboundMessage& request, DataVerb verb) {
  return verb == DataVerb::kWriteThenImm && request.verb == Verb::kWrite &&
         RequestContext(request).purpose() == Purpose::kPart;
}

// Either of one message, or of its transfer, which has the same fields. Written where it is reported: what is copied as
// soon as it is written waits for the writing.
template <class Sent>
void write_sent_event(const Sent& message, ConnectionId connection, uint32_t index, Event& event) {
  event.kind = message.failure == Failure::kNone ? EventKind::kSent : EventKind::kFailed;
  event.failure = message.failure;
  event.at_source = true;
  event.connection = connection;
  event.index = index;
  event.retransmissions = message.retransmissions;
  event.bytes = Bytes(message.bytes);
  event.causes = nullptr;
  event.sent = {message.posted, message.first_tx, message.last_tx, message.acked};
}

}  // namespace

[[gnu::always_inline]] inline void RoceTransport::post_slot(uint32_t slot, uint32_t queue_pair) noexcept {
  Requester& requester = pairs_->requesters[queue_pair];
  const bool waits = requester.next_message() != kNone;  // behind others, which go on as before
  const Time deadline = requester.deadline();
  requester.post(outbound_->pool, slot);
  if (!waits || causes_->on()) steps_->after(queue_pair, last_now_, deadline);
}

// A SEND, or a WRITE to `offset` in the peer's memory.
[[gnu::always_inline]] inline void RoceTransport::post_data(uint32_t slot, uint32_t offset) noexcept {
  OutboundMessage& request = outbound_->pool.messages[slot];
  const QueuePairEnd& end = pairs_->ends[request.queue_pair];
  request.remote_address = end.remote.address + offset;
  request.rkey = end.remote.key;
  if (!pairs_->remote_slots.empty()) {
    RemoteSlots& slots = pairs_->remote_slots[request.queue_pair];
    request.remote_address += slots.written * slots.bytes;
    if (!has_following_immediate(request, options_.verb) && ++slots.written == slots.count) slots.written = 0;
  }
  post_slot(slot, request.queue_pair);
}

// The pools hold all requests of as many messages as may be posted.
[[gnu::always_inline]] inline void RoceTransport::take(Time now, const Message& message) noexcept {
  const ConnectionEnds& ends = pairs_->connections[message.connection.value];
  assert(ends.source != kNone && "the connection's source is not here");
  const bool split = pairs_->is_split(ends);
  const auto describe = [&](OutboundMessage& request) {
    request.posted = now;
    request.bytes = static_cast<uint32_t>(message.bytes.count);
    request.immediate = request.index = message.index;
    request.queue_pair = ends.source;
    if (options_.payload == PayloadMode::kChecking) request.payload_key = payload_key(message.id);
    if (!split && options_.queue_pairs > 1) request.queue_pair += message.index % options_.queue_pairs;
  };
  if (ends.control || (!split && has_one_request(options_.verb))) {
    const uint32_t slot = outbound_->pool.messages.take();
    OutboundMessage& request = outbound_->pool.messages[slot];
    describe(request);
    request.verb = ends.control ? Verb::kWrite : final_verb(options_.verb);
    request.context = RequestContext(ends.control ? Purpose::kControl : Purpose::kMessage).bits();
    post_data(slot, 0);
  } else {
    OutboundMessage part;
    describe(part);
    post_parts(part, split ? options_.queue_pairs : 1);
  }
}

size_t RoceTransport::post(Time now, std::span<const Message> messages) noexcept {
  last_now_ = now;
  const size_t n = std::min<size_t>(messages.size(), outbound_->room());
  for (const Message& message : messages.first(n)) take(now, message);
  outbound_->take(static_cast<uint32_t>(n));
  counters_->totals.post_refused += messages.size() - n;
  return n;
}

void RoceTransport::post_parts(OutboundMessage part, uint32_t parts) noexcept {
  const uint32_t transfer = outbound_->transfers.take();
  Transfer& whole = outbound_->transfers[transfer];
  whole.posted = part.posted;
  whole.connection = pairs_->ends[part.queue_pair].outbound;
  whole.index = part.index;
  whole.bytes = part.bytes;
  whole.outstanding = parts * (options_.verb == DataVerb::kWriteThenImm ? 2 : 1);
  const auto size = static_cast<uint32_t>(split_part(Bytes(whole.bytes), parts).count);
  for (uint32_t offset = 0; parts > 0; --parts, ++part.queue_pair) {
    part.bytes = std::min(size, whole.bytes - offset);
    post_part(part, transfer, offset);
    offset += part.bytes;
  }
}

void RoceTransport::post_part(OutboundMessage part, uint32_t transfer, uint32_t offset) noexcept {
  if (options_.verb == DataVerb::kRead) return post_offer(part, transfer);
  part.context = RequestContext(Purpose::kPart, transfer).bits();
  if (options_.verb == DataVerb::kWriteThenImm) {
    part.verb = Verb::kWrite;
    post_data(outbound_->pool.messages.put(part), offset);
    part.bytes = 0;
  }
  part.verb = final_verb(options_.verb);
  post_data(outbound_->pool.messages.put(part), offset);
}

void RoceTransport::post_offer(OutboundMessage part, uint32_t transfer) noexcept {
  const uint32_t offer = outbound_->offers.take();
  outbound_->offers[offer].payload_key = part.payload_key;
  outbound_->offers[offer].transfer = transfer;
  outbound_->offers[offer].index = part.index;
  outbound_->offers[offer].bytes = part.bytes;
  if (pairs_->ends[part.queue_pair].failed) {
    outbound_->close_offer(offer, Failure::kFlushed);
  } else {
    outbound_->push_offer(part.queue_pair, offer);
  }
  part.verb = Verb::kSend;
  part.bytes = sizeof(ReadyToSend);
  part.context = RequestContext(Purpose::kReadyToSend, offer).bits();
  post_request(part);
}

void RoceTransport::post_request(const OutboundMessage& request) noexcept {
  post_slot(outbound_->pool.messages.put(request), request.queue_pair);
}

size_t RoceTransport::report_finished(std::span<Event> events) noexcept {
  size_t n = 0;
  while (n < events.size()) {
    if (outbound_->any_ended()) {
      const uint32_t transfer = outbound_->take_ended();
      Transfer& whole = outbound_->transfers[transfer];
      if (whole.failure != Failure::kNone) whole.acked = Time::never();
      if (whole.first_tx == Time::never()) whole.last_tx = Time::never();
      write_sent_event(whole, whole.connection, whole.index, events[n]);
      if (causes_->on()) events[n].causes = accounts_.keep(accounts_.take_transfer(transfer));
      count_end(events[n++]);
      outbound_->transfers.give_back(transfer);
    } else if (!outbound_->pool.finished.empty()) {
      n += settle(outbound_->pool.finished.pop_front(outbound_->pool.messages), events.subspan(n));
    } else {
      break;
    }
  }
  return n;
}

// A request has finished. Returns the number of events: one if a message ends with it.
[[gnu::always_inline]] inline size_t RoceTransport::settle(uint32_t slot, std::span<Event> events) noexcept {
  const OutboundMessage& request = outbound_->pool.messages[slot];
  const RequestContext context(request);
  pairs_->ends[request.queue_pair].packets += packets_of_request(request);
  size_t n = 0;
  switch (context.purpose()) {
    case Purpose::kMessage:
    case Purpose::kControl:
      count_sent(request);
      write_sent_event(request, pairs_->ends[request.queue_pair].outbound, request.index, events[n]);
      if (causes_->on()) events[n].causes = accounts_.keep(causes_->take_share(request.queue_pair, last_now_));
      count_end(events[n++]);
      break;
    case Purpose::kPart:
      count_sent(request);
      add_to_transfer(context.subject(), request);
      outbound_->end_part(context.subject());
      break;
    case Purpose::kReadyToSend:
      add_to_transfer(outbound_->offers[context.subject()].transfer, request);
      outbound_->close_offer(context.subject(), request.failure);
      break;
    case Purpose::kGet:
      if (request.failure == Failure::kNone) break;
      if (const std::optional<Event> failed = fail_get(request)) events[n++] = *failed;
      break;
    case Purpose::kGetFinished:
      outbound_->gets.give_back(context.subject());
      break;
  }
  outbound_->pool.messages.give_back(slot);
  return n;
}

// Data packets that the request has taken so far.
uint64_t RoceTransport::packets_of_request(const OutboundMessage& request) const noexcept {
  if (!request.started() || request.verb == Verb::kRead) return 0;
  if (request.failure == Failure::kNone) return request.packets + uint64_t{request.retransmissions};
  const int32_t sent = psn_distance(request.first_psn, pairs_->requesters[request.queue_pair].end_psn());
  return std::min(static_cast<uint32_t>(sent), request.packets) + uint64_t{request.retransmissions};
}

void RoceTransport::count_sent(const OutboundMessage& request) noexcept {
  if (request.failure != Failure::kNone) return;
  QueuePairEnd& flow = pairs_->ends[request.queue_pair];
  flow.bytes += request.bytes;
  if (!has_following_immediate(request, options_.verb)) ++flow.messages;
}

void RoceTransport::count_end(const Event& event) noexcept {
  outbound_->reported();
  ++(event.kind == EventKind::kSent ? counters_->totals.messages_sent : counters_->totals.messages_failed);
}

void RoceTransport::add_to_transfer(uint32_t transfer, const OutboundMessage& request) noexcept {
  if (causes_->on()) accounts_.add_to_transfer(transfer, causes_->take_share(request.queue_pair, last_now_));
  outbound_->add(transfer, request);
}

}  // namespace rankwire
