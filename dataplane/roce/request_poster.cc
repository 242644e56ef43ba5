#include "dataplane/roce/request_poster.h"

#include <algorithm>
#include <cassert>

#include "dataplane/protocol/rendezvous.h"
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

}  // namespace

[[gnu::always_inline]] inline void RequestPoster::post_slot(uint32_t slot, uint32_t queue_pair, Time now) noexcept {
  Requester& requester = tables_.requesters[queue_pair];
  const bool waits = requester.next_message() != OutboundMessage::kNone;  // behind others, which go on as before
  const Time deadline = requester.deadline();
  requester.post(outbound_.pool, slot);
  if (!waits || causes_.on()) steps_.after(queue_pair, now, deadline);
}

// A SEND, or a WRITE to `offset` in the peer's memory.
[[gnu::always_inline]] inline void RequestPoster::post_data(uint32_t slot, uint32_t offset, Time now) noexcept {
  OutboundMessage& request = outbound_.pool.messages[slot];
  const QueuePairEnd& end = tables_.ends[request.queue_pair];
  request.remote_address = end.remote.address + offset;
  request.rkey = end.remote.key;
  if (!pairs_.remote_slots.empty()) {
    RemoteSlots& slots = pairs_.remote_slots[request.queue_pair];
    request.remote_address += slots.written * slots.bytes;
    if (!has_following_immediate(request, options_.verb) && ++slots.written == slots.count) slots.written = 0;
  }
  post_slot(slot, request.queue_pair, now);
}

// The pools hold all requests of as many messages as may be posted.
[[gnu::always_inline]] inline void RequestPoster::take(Time now, const Message& message) noexcept {
  const ConnectionEnds& ends = pairs_.connections[message.connection.value];
  assert(ends.source != QueuePairs::kNone && "the connection's source is not here");
  const bool split = pairs_.is_split(ends);
  const auto describe = [&](OutboundMessage& request) {
    request.posted = now;
    request.bytes = static_cast<uint32_t>(message.bytes.count);
    request.immediate = request.index = message.index;
    request.queue_pair = ends.source;
    if (options_.payload == PayloadMode::kChecking) request.payload_key = payload_key(message.id);
    if (!split && options_.queue_pairs > 1) request.queue_pair += message.index % options_.queue_pairs;
  };
  if (ends.control || (!split && has_one_request(options_.verb))) {
    const uint32_t slot = outbound_.pool.messages.take();
    OutboundMessage& request = outbound_.pool.messages[slot];
    describe(request);
    request.verb = ends.control ? Verb::kWrite : final_verb(options_.verb);
    request.context = RequestContext(ends.control ? Purpose::kControl : Purpose::kMessage).bits();
    post_data(slot, 0, now);
  } else {
    OutboundMessage part;
    describe(part);
    post_parts(part, split ? options_.queue_pairs : 1);
  }
}

size_t RequestPoster::post(Time now, std::span<const Message> messages) noexcept {
  const size_t n = std::min<size_t>(messages.size(), outbound_.room());
  for (const Message& message : messages.first(n)) take(now, message);
  outbound_.take(static_cast<uint32_t>(n));
  counters_.totals.post_refused += messages.size() - n;
  return n;
}

void RequestPoster::post_parts(OutboundMessage part, uint32_t parts) noexcept {
  const uint32_t transfer = outbound_.transfers.take();
  Transfer& whole = outbound_.transfers[transfer];
  whole.posted = part.posted;
  whole.connection = tables_.ends[part.queue_pair].outbound;
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

void RequestPoster::post_part(OutboundMessage part, uint32_t transfer, uint32_t offset) noexcept {
  if (options_.verb == DataVerb::kRead) return post_offer(part, transfer);
  part.context = RequestContext(Purpose::kPart, transfer).bits();
  if (options_.verb == DataVerb::kWriteThenImm) {
    part.verb = Verb::kWrite;
    post_data(outbound_.pool.messages.put(part), offset, part.posted);
    part.bytes = 0;
  }
  part.verb = final_verb(options_.verb);
  post_data(outbound_.pool.messages.put(part), offset, part.posted);
}

void RequestPoster::post_offer(OutboundMessage part, uint32_t transfer) noexcept {
  const uint32_t offer = outbound_.offers.take();
  outbound_.offers[offer].payload_key = part.payload_key;
  outbound_.offers[offer].transfer = transfer;
  outbound_.offers[offer].index = part.index;
  outbound_.offers[offer].bytes = part.bytes;
  if (tables_.ends[part.queue_pair].failed) {
    outbound_.close_offer(offer, Failure::kFlushed);
  } else {
    outbound_.push_offer(part.queue_pair, offer);
  }
  part.verb = Verb::kSend;
  part.bytes = sizeof(ReadyToSend);
  part.context = RequestContext(Purpose::kReadyToSend, offer).bits();
  post_request(part);
}

void RequestPoster::post_request(const OutboundMessage& request) noexcept {
  post_slot(outbound_.pool.messages.put(request), request.queue_pair, request.posted);
}

}  // namespace rankwire
