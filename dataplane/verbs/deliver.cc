// VerbsTransport's messages at their destination: from the completion, or the memory, to the event.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "dataplane/verbs/transport.h"
#include "fabric/network.h"

namespace rankwire {
namespace {

/// In a control message before its index is written there, and never an index.
constexpr uint32_t kNeverWritten = UINT32_MAX;
/// How often a control message is looked at whose index is there and whose payload is not: a WRITE need not appear in
/// memory at once.
constexpr uint32_t kControlLooks = 4096;

}  // namespace

void VerbsTransport::on_receive(uint32_t end, const WorkCompletion& completion) noexcept {
  const auto receive = static_cast<uint32_t>(completion.id);
  const VerbsEnd& owner = ends_[end];
  const ReceivePool& pool = receive_pools_[owner.receive_pool];
  if (completion.has_immediate && owner.inbound.valid() && !connections_[owner.inbound.value].control) {
    on_message(end, receive, completion);
  } else if (!completion.has_immediate && options_.verb == DataVerb::kRead) {
    on_rendezvous(end, {at(pool.buffers.place(receive)), std::min(completion.bytes, pool.buffer_bytes)});
    give_back(end, receive);
  } else {
    ++details_.unexpected;
    give_back(end, receive);
  }
}

uint32_t VerbsTransport::message_bytes(ConnectionId connection, uint32_t index) const noexcept {
  const uint32_t messages = plan_.connections[connection.value].messages_per_iteration;
  if (messages > 0) return plan_.message_bytes[connections_[connection.value].first_message + index % messages];
  return plan_.unplanned_bytes ? static_cast<uint32_t>(plan_.unplanned_bytes(connection, index).count) : 0;
}

// What an end receives of a message.
VerbsTransport::PartPlace VerbsTransport::part_of(const VerbsEnd& end, uint32_t index) const noexcept {
  const uint32_t bytes = message_bytes(end.inbound, index);
  if (!is_split(connections_[end.inbound.value])) return {0, bytes};
  const auto size = static_cast<uint64_t>(split_part(Bytes(bytes), options_.queue_pairs).count);
  const auto offset = static_cast<uint32_t>(std::min<uint64_t>(size * end.member, bytes));
  return {offset, static_cast<uint32_t>(std::min<uint64_t>(size, bytes - offset))};
}

void VerbsTransport::check_payload(ReceivedPart& part, uint64_t place, uint32_t bytes) noexcept {
  PayloadCheck check;
  check.add(0, {at(place), bytes});
  part.key = check.key();
  part.payload_good = part.payload_good && check.matches();
}

void VerbsTransport::on_message(uint32_t end, uint32_t receive, const WorkCompletion& completion) noexcept {
  VerbsEnd& owner = ends_[end];
  const uint32_t index = completion.immediate;
  const PartPlace place = part_of(owner, index);
  ReceivedPart part{.delivered = last_now_, .bytes = place.bytes};
  const uint64_t slot = owner.inbox.place(owner.received++);
  if (options_.payload == PayloadMode::kChecking) {
    const bool sent = options_.verb == DataVerb::kSendImm;
    part.payload_good = !sent || completion.bytes == place.bytes;
    check_payload(part, sent ? receive_pools_[owner.receive_pool].buffers.place(receive) : slot + place.offset,
                  place.bytes);
  }
  deliver(end, index, part, receive);
}

void VerbsTransport::on_rendezvous(uint32_t end, std::span<const uint8_t> payload) noexcept {
  const auto ready = control_message<ReadyToSend>(payload);
  if (ready && take_up(end, *ready)) return;
  const auto finished = control_message<GetFinished>(payload);
  if (finished && end_offer(end, finished->cookie.value())) return;
  ++details_.unexpected;
  if (ends_[end].state != VerbsEnd::State::kOpen) return;
  note_failure(end, {.status = WorkStatus::kBadResponse});
  ends_[end].failed_receiving = true;
  fail_connection(end);
}

// The offer keeps no receive: the peer may need one to tell us that it has fetched what we offered, before it can go
// on.
bool VerbsTransport::take_up(uint32_t end, const ReadyToSend& ready) noexcept {
  const VerbsEnd& owner = ends_[end];
  const uint32_t bytes = ready.length.value();
  if (!owner.inbound.valid() || bytes > largest_part(owner.inbound) || gets_.full()) return false;
  const uint32_t get = gets_.take();
  gets_[get].cookie = ready.cookie.value();
  const uint32_t slot = requests_.take();
  VerbsRequest& request = requests_[slot];
  request.purpose = Purpose::kGet;
  request.subject = get;
  request.index = ready.index.value();
  request.bytes = bytes;
  request.remote_address = ready.address.value();
  request.remote_key = ready.rkey.value();
  enqueue(end, slot);
  return true;
}

bool VerbsTransport::end_offer(uint32_t end, uint32_t cookie) noexcept {
  VerbsEnd& owner = ends_[end];
  // READs of a queue pair are answered in order.
  if (owner.oldest_offer == kNone || owner.oldest_offer != cookie) return false;
  const Offer& offer = offers_[cookie];
  owner.oldest_offer = offer.next;
  if (options_.payload == PayloadMode::kChecking) ++owner.freed;
  ++owner.messages;
  owner.bytes += offer.bytes;
  close_offer(cookie, Failure::kNone);
  if (!owner.waiting.empty()) sending_.push(end);
  return true;
}

// The request goes on to say that it has the data.
void VerbsTransport::on_fetched(uint32_t end, uint32_t slot) noexcept {
  VerbsRequest& request = requests_[slot];
  const VerbsGet& get = gets_[request.subject];
  ReceivedPart part{.delivered = last_now_, .bytes = request.bytes};
  if (options_.payload == PayloadMode::kChecking) check_payload(part, get.place, request.bytes);
  ++ends_[end].fetched;
  const uint32_t index = request.index;
  request.purpose = Purpose::kGetFinished;
  request.bytes = sizeof(GetFinished);
  enqueue(end, slot);
  complete_part(end, index, part);
}

void VerbsTransport::fail_get(uint32_t end, uint32_t slot, Failure failure) noexcept {
  const VerbsRequest request = requests_[slot];
  gets_.give_back(request.subject);
  requests_.give_back(slot);
  complete_part(end, request.index, {.failure = failure});
}

void VerbsTransport::look_for_control() noexcept {
  for (const uint32_t end : control_ends_)
    while (delivered_->size() + gets_.size() < delivered_->capacity() && take_control(end)) {
    }
}

// The next control message, if it is there.
bool VerbsTransport::take_control(uint32_t end) noexcept {
  VerbsEnd& owner = ends_[end];
  const uint64_t place = owner.inbox.place(owner.received);
  auto& word = *reinterpret_cast<uint32_t*>(at(place));
  static_assert(std::endian::native == std::endian::little);
  const uint32_t index = std::atomic_ref(word).load(std::memory_order_acquire);
  if (index == kNeverWritten) return false;
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(message_bytes(owner.inbound, index), owner.inbox.stride));
  ReceivedPart part{.delivered = last_now_, .bytes = bytes};
  if (options_.payload == PayloadMode::kChecking && bytes > kControlHeader) {
    check_payload(part, place + kControlHeader, bytes - kControlHeader);
    if (!part.payload_good && ++owner.looks < kControlLooks) return false;
  }
  owner.looks = 0;
  ++owner.received;
  std::memset(at(place), 0xFF, owner.inbox.stride);
  report(owner.inbound, index, part);
  return true;
}

// A message, or its part, is there and compared.
void VerbsTransport::deliver(uint32_t end, uint32_t index, const ReceivedPart& part, uint32_t receive) noexcept {
  const ConnectionEnds& ends = connections_[ends_[end].inbound.value];
  const bool complete = complete_part(end, index, part);
  if (!is_split(ends)) return give_back(end, receive);
  // All parts of a message have its place: none of the queue pairs may go on to the next use of it earlier. The
  // messages of a connection become complete in the order of each of its queue pairs.
  ends_[end].held.push_back(receive);
  if (!complete) return;
  for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
    std::vector<uint32_t>& held = ends_[ends.destination + member].held;
    if (held.empty()) continue;
    give_back(ends.destination + member, held.front());
    held.erase(held.begin());
  }
}

// Whether the message is complete.
bool VerbsTransport::complete_part(uint32_t end, uint32_t index, const ReceivedPart& part) noexcept {
  const ConnectionId connection = ends_[end].inbound;
  if (!is_split(connections_[connection.value])) {
    report(connection, index, part);
    return true;
  }
  if (!assembly_.admits(connection, index)) {
    ++details_.unexpected;
    return false;
  }
  const MessageAssembly::Progress progress = assembly_.add(connection, index, options_.queue_pairs, part);
  if (progress.missing > 0) return false;
  report(connection, index, progress.message);
  return true;
}

void VerbsTransport::report(ConnectionId connection, uint32_t index, const ReceivedPart& message) noexcept {
  const Event event = received_event(connection, index, message);
  if (!message.payload_good) ++counters_.payload_errors;
  ++(event.kind == EventKind::kReceived ? counters_.messages_delivered : counters_.messages_failed);
  delivered_->push({&event, 1});
}

void VerbsTransport::give_back(uint32_t end, uint32_t receive) noexcept {
  const VerbsEnd& owner = ends_[end];
  if (owner.receives_flushed && !options_.shared_receive_queue) return;
  receive_pools_[owner.receive_pool].unposted.push_back(receive);
  receiving_.push(owner.receive_pool);
}

void VerbsTransport::post_receives() noexcept {
  while (!receiving_.empty()) post_receives(receive_pools_[receiving_.pop()]);
}

void VerbsTransport::post_receives(ReceivePool& pool) noexcept {
  const auto index = static_cast<uint64_t>(&pool - receive_pools_.data());
  while (!pool.unposted.empty()) {
    const size_t n = std::min(pool.unposted.size(), receives_.size());
    const size_t first = pool.unposted.size() - n;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t receive = pool.unposted[first + i];
      receives_[i] = {.id = kReceiveBit | index << 32 | receive,
                      .address = pool.buffer_bytes == 0 ? 0 : address_of(pool.buffers.place(receive)),
                      .bytes = pool.buffer_bytes,
                      .local_key = devices_[pool.device].region->local_key()};
    }
    const size_t taken = pool.queue->post({receives_.data(), n});
    ++details_.receive_doorbells;
    pool.unposted.resize(first);
    if (taken < n) {
      details_.receives_refused += n - taken;
      fail_pool(pool);
    }
  }
}

// There was room by our own count: without its receives a queue pair would hold its peer back for ever.
void VerbsTransport::fail_pool(const ReceivePool& pool) noexcept {
  const auto index = static_cast<uint32_t>(&pool - receive_pools_.data());
  for (uint32_t end = 0; end < ends_.size(); ++end)
    if (ends_[end].receive_pool == index) fail_receiving(end, {.status = WorkStatus::kGeneral});
}

}  // namespace rankwire
