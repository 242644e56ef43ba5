// VerbsTransport's messages at their source: from the posting to the doorbell.
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/message.h"
#include "dataplane/verbs/transport.h"
#include "fabric/network.h"

namespace rankwire {

size_t VerbsTransport::post(Time now, std::span<const Message> messages) noexcept {
  last_now_ = now;
  const size_t n = std::min<size_t>(messages.size(), plan_.messages_in_flight - messages_taken_);
  for (const Message& message : messages.first(n)) take(now, message);
  messages_taken_ += static_cast<uint32_t>(n);
  counters_.post_refused += messages.size() - n;
  return n;
}

void VerbsTransport::take(Time now, const Message& message) noexcept {
  const ConnectionEnds& ends = connections_[message.connection.value];
  assert(ends.source != kNone && "the connection's source is not here");
  const uint32_t transfer = transfers_.take();
  Transfer& whole = transfers_[transfer];
  whole.posted = now;
  whole.connection = message.connection;
  whole.index = message.index;
  whole.bytes = static_cast<uint32_t>(message.bytes.count);
  VerbsRequest part;
  part.purpose = ends.control ? Purpose::kControl : Purpose::kData;
  part.index = message.index;
  part.bytes = whole.bytes;
  if (options_.payload == PayloadMode::kChecking) part.payload_key = payload_key(message.id);
  if (!is_split(ends)) {
    whole.outstanding = 1;
    post_part(ends.source + message.index % options_.queue_pairs, part, transfer);
    return;
  }
  whole.outstanding = options_.queue_pairs;
  const auto size = static_cast<uint32_t>(split_part(message.bytes, options_.queue_pairs).count);
  for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
    part.offset = static_cast<uint32_t>(std::min(uint64_t{size} * member, uint64_t{whole.bytes}));
    part.bytes = std::min(size, whole.bytes - part.offset);
    post_part(ends.source + member, part, transfer);
  }
}

void VerbsTransport::post_part(uint32_t end, VerbsRequest part, uint32_t transfer) noexcept {
  part.subject = transfer;
  if (options_.verb == DataVerb::kRead && part.purpose == Purpose::kData) {
    const uint32_t slot = offers_.take();
    Offer& offer = offers_[slot];
    offer.payload_key = part.payload_key;
    offer.transfer = transfer;
    offer.index = part.index;
    offer.bytes = part.bytes;
    VerbsEnd& source = ends_[end];
    if (hears_nothing(source)) {
      close_offer(slot, Failure::kFlushed);
    } else {
      (source.oldest_offer == kNone ? source.oldest_offer : offers_[source.newest_offer].next) = slot;
      source.newest_offer = slot;
    }
    part.purpose = Purpose::kReadyToSend;
    part.subject = slot;
    part.bytes = sizeof(ReadyToSend);
  }
  const uint32_t request = requests_.take();
  requests_[request] = part;
  enqueue(end, request);
}

void VerbsTransport::enqueue(uint32_t end, uint32_t request) noexcept {
  VerbsEnd& owner = ends_[end];
  if (owner.state != VerbsEnd::State::kOpen) {
    const bool unreachable = owner.state == VerbsEnd::State::kUnreachable;
    return finish(end, request, unreachable ? Failure::kUnreachable : owner.flushed());
  }
  owner.waiting.push(requests_, request);
  sending_.push(end);
}

// Each queue pair that has something to send has one turn.
void VerbsTransport::transmit() noexcept {
  for (uint32_t turns = sending_.size(); turns > 0; --turns) transmit(sending_.pop());
}

void VerbsTransport::transmit(uint32_t end) noexcept {
  VerbsEnd& owner = ends_[end];
  size_t n = 0;
  while (n < chain_.size() && !owner.waiting.empty() && owner.outstanding() < options_.send_queue && begin(owner))
    chain_[n++] = next_work(end);
  if (n == 0) return;
  ++details_.doorbells;
  const size_t taken = owner.queue_pair->send({chain_.data(), n});
  details_.work_requests += taken;
  if (taken < n) {
    // There was room by our own count, so this is not a matter of waiting.
    details_.refused += n - taken;
    return fail_refused(end, static_cast<uint32_t>(chain_[taken].id));
  }
  if (n == chain_.size() && !owner.waiting.empty()) sending_.push(end);
}

// Makes the first waiting request ready to be posted. Only a payload that must be written or compared may find no
// place; what goes before it makes room.
bool VerbsTransport::begin(VerbsEnd& end) noexcept {
  if (end.head_work > 0) return true;
  const uint32_t slot = end.waiting.head;
  VerbsRequest& request = requests_[slot];
  const bool payload = request.purpose == Purpose::kData || request.purpose == Purpose::kReadyToSend;
  if (payload && !stage(end, request)) return false;
  if (request.purpose == Purpose::kGet && !find_landing(end, request)) return false;
  if (request.purpose == Purpose::kData || request.purpose == Purpose::kControl) {
    request.remote_address =
        end.remote.address + end.written % end.remote.slots * end.remote.slot_bytes + request.offset;
    request.remote_key = end.remote.rkey;
    ++end.written;
  }
  if (request.purpose != Purpose::kData && request.purpose != Purpose::kGet) write_words(end, request, slot);
  request.first_serial = end.next_serial;
  return true;
}

bool VerbsTransport::stage(VerbsEnd& end, VerbsRequest& request) noexcept {
  if (options_.payload == PayloadMode::kPattern) {
    request.address = address_of(pattern_.begin);
    return true;
  }
  if (end.staged - end.freed == end.staging.slots) return false;
  const uint64_t place = end.staging.place(end.staged++);
  const uint32_t bytes = request.purpose == Purpose::kReadyToSend ? offers_[request.subject].bytes : request.bytes;
  write_payload(request.payload_key, 0, {at(place), bytes});
  request.address = address_of(place);
  return true;
}

bool VerbsTransport::find_landing(VerbsEnd& end, VerbsRequest& request) noexcept {
  uint64_t place = landing_.begin;
  if (options_.payload == PayloadMode::kChecking) {
    if (end.fetching - end.fetched == end.landings.slots) return false;
    place = gets_[request.subject].place = end.landings.place(end.fetching++);
  }
  request.address = address_of(place);
  return true;
}

// What is sent of a request that is neither data nor asks for them. `request.address` is where an offer's data stand.
void VerbsTransport::write_words(const VerbsEnd& end, VerbsRequest& request, uint32_t slot) noexcept {
  const uint64_t place = words_.place(slot);
  if (request.purpose == Purpose::kReadyToSend) {
    const Offer& offer = offers_[request.subject];
    const ReadyToSend ready{Be32(offer.index), Be32(request.subject), Be64(request.address),
                            Be32(devices_[end.device].region->remote_key()), Be32(offer.bytes)};
    std::memcpy(at(place), &ready, sizeof ready);
  } else if (request.purpose == Purpose::kGetFinished) {
    const GetFinished finished{Be32(gets_[request.subject].cookie)};
    std::memcpy(at(place), &finished, sizeof finished);
  } else {
    static_assert(std::endian::native == std::endian::little);
    const std::array<uint32_t, 2> words{request.index, 0};
    std::memcpy(at(place), words.data(), std::min<size_t>(sizeof words, request.bytes));
    if (request.bytes > sizeof words)
      write_payload(request.payload_key, 0, {at(place) + sizeof words, request.bytes - sizeof words});
  }
  request.address = address_of(place);
}

uint32_t VerbsTransport::work_requests_of(const VerbsEnd& end, const VerbsRequest& request) const noexcept {
  const uint64_t longest = devices_[end.device].longest_work;
  const auto segments = static_cast<uint32_t>(request.bytes == 0 ? 1 : (request.bytes + longest - 1) / longest);
  const bool immediate_follows = request.purpose == Purpose::kData && options_.verb == DataVerb::kWriteThenImm;
  return segments + (immediate_follows ? 1 : 0);
}

WorkKind VerbsTransport::kind_of(const VerbsRequest& request, uint32_t work, uint32_t works) const noexcept {
  switch (request.purpose) {
    case Purpose::kControl:
      return WorkKind::kWrite;
    case Purpose::kReadyToSend:
    case Purpose::kGetFinished:
      return WorkKind::kSend;
    case Purpose::kGet:
      return WorkKind::kRead;
    case Purpose::kData:
      break;
  }
  if (options_.verb == DataVerb::kSendImm) return WorkKind::kSendImmediate;
  return work + 1 == works ? WorkKind::kWriteImmediate : WorkKind::kWrite;
}

// The next work request of the first that waits, which moves on to the posted ones with its last.
SendWork VerbsTransport::next_work(uint32_t end) noexcept {
  VerbsEnd& owner = ends_[end];
  const uint32_t slot = owner.waiting.head;
  VerbsRequest& request = requests_[slot];
  const uint32_t works = work_requests_of(owner, request), work = owner.head_work++;
  const uint64_t longest = devices_[owner.device].longest_work;
  const uint64_t offset = std::min<uint64_t>(work * longest, request.bytes);
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(longest, request.bytes - offset));
  const WorkKind kind = kind_of(request, work, works);
  const bool last = work + 1 == works;
  SendWork result{.id = uint64_t{end} << 32 | owner.next_serial,
                  .address = request.address + offset,
                  .remote_address = request.remote_address + offset,
                  .bytes = bytes,
                  .local_key = devices_[owner.device].region->local_key(),
                  .remote_key = request.remote_key,
                  .immediate = request.index,
                  .kind = kind,
                  .signalled = last || owner.since_signalled + 1 >= options_.signal_every,
                  .by_value = kind != WorkKind::kRead && bytes > 0 && bytes <= options_.inline_bytes};
  owner.since_signalled = result.signalled ? 0 : owner.since_signalled + 1;
  details_.signalled += result.signalled ? 1 : 0;
  details_.by_value += result.by_value ? 1 : 0;
  request.last_serial = owner.next_serial++;
  if (last) {
    owner.waiting.pop(requests_);
    owner.posted.push(requests_, slot);
    owner.head_work = 0;
  }
  return result;
}

}  // namespace rankwire
