// VerbsTransport's completions at the sending end, and what becomes of queue pairs that fail.
#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/verbs/transport.h"

namespace rankwire {
namespace {

// Serials count modulo 2^32, and less than 2^31 are under way.
bool is_before(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a - b) < 0;
}

}  // namespace

void VerbsTransport::complete() noexcept {
  for (uint32_t device = 0; device < devices_.size(); ++device)
    for (const auto& queue : devices_[device].completions)
      if (!devices_[device].lost) complete(device, *queue);
}

// A bounded number of completions, so that sending has its turn too.
void VerbsTransport::complete(uint32_t device, VerbsCompletionQueue& queue) noexcept {
  constexpr uint32_t kBatches = 4;
  for (uint32_t batch = 0; batch < kBatches; ++batch) {
    if (delivered_->capacity() - delivered_->size() < completed_.size() + gets_.size()) return;
    const std::optional<size_t> n = queue.poll(completed_);
    ++details_.polls;
    if (!n) {
      ++details_.polls_failed;
      return lose_device(device, "a completion queue cannot be polled");
    }
    details_.completions += *n;
    for (const WorkCompletion& completion : std::span(completed_).first(*n)) on_completion(device, completion);
    if (*n < completed_.size()) return;
  }
}

void VerbsTransport::on_completion(uint32_t device, const WorkCompletion& completion) noexcept {
  ++statuses_[static_cast<size_t>(completion.status)];
  if ((completion.id & kReceiveBit) == 0) {
    const auto end = static_cast<uint32_t>(completion.id >> 32);
    if (ends_[end].state == VerbsEnd::State::kAbandoned) return;
    return completion.status == WorkStatus::kSuccess ? retire(end, static_cast<uint32_t>(completion.id))
                                                     : on_send_error(end, completion);
  }
  const auto pool = static_cast<uint32_t>((completion.id & ~kReceiveBit) >> 32);
  uint32_t end = receive_pools_[pool].end;
  if (end == ReceivePool::kNone) {
    const auto known = devices_[device].ends.find(completion.queue_pair);
    if (known == devices_[device].ends.end()) {
      ++details_.unexpected;
      return;
    }
    end = known->second;
  }
  if (ends_[end].state == VerbsEnd::State::kAbandoned) return give_back(end, static_cast<uint32_t>(completion.id));
  completion.status == WorkStatus::kSuccess ? on_receive(end, completion) : on_receive_error(end, completion);
}

// A completion says that all work requests before it have succeeded too.
void VerbsTransport::retire(uint32_t end, uint32_t serial) noexcept {
  VerbsEnd& owner = ends_[end];
  owner.done_serial = serial + 1;
  while (!owner.posted.empty() && !is_before(serial, requests_[owner.posted.head].last_serial))
    finish(end, owner.posted.pop(requests_), Failure::kNone);
  if (!owner.waiting.empty()) sending_.push(end);
}

// The first error of a queue pair names the work request that is to blame; everything behind it is flushed, each work
// request with a completion of its own. What was before it has told that it succeeded: each request's last work request
// asks for a completion. A request that is posted in part only has failed with any of its work requests; it leaves the
// waiting ones, which are flushed.
void VerbsTransport::on_send_error(uint32_t end, const WorkCompletion& completion) noexcept {
  VerbsEnd& owner = ends_[end];
  const auto serial = static_cast<uint32_t>(completion.id);
  if (is_before(serial, owner.done_serial)) return;
  if (completion.status != WorkStatus::kFlushed && owner.status == WorkStatus::kSuccess) note_failure(end, completion);
  if (owner.head_work > 0 && !is_before(serial, requests_[owner.waiting.head].first_serial)) {
    owner.posted.push(requests_, owner.waiting.pop(requests_));
    owner.head_work = 0;
  }
  fail_connection(end);
  owner.done_serial = serial + 1;
  const Failure failure = completion.status == WorkStatus::kFlushed ? owner.flushed() : failure_of(completion.status);
  while (!owner.posted.empty() && !is_before(serial, requests_[owner.posted.head].first_serial))
    finish(end, owner.posted.pop(requests_), failure);
}

void VerbsTransport::on_receive_error(uint32_t end, const WorkCompletion& completion) noexcept {
  // The others need what it took from the shared queue.
  if (options_.shared_receive_queue) give_back(end, static_cast<uint32_t>(completion.id));
  fail_receiving(end, completion);
}

void VerbsTransport::fail_receiving(uint32_t end, const WorkCompletion& completion) noexcept {
  VerbsEnd& owner = ends_[end];
  if (completion.status != WorkStatus::kFlushed && owner.status == WorkStatus::kSuccess) {
    note_failure(end, completion);
    owner.failed_receiving = true;
  }
  fail_connection(end);
  // Receives complete in order: none that follows can succeed.
  owner.receives_flushed = true;
  fail_offers(end);
}

void VerbsTransport::note_failure(uint32_t end, const WorkCompletion& completion) noexcept {
  VerbsEnd& owner = ends_[end];
  owner.status = completion.status;
  owner.vendor_error = completion.vendor_error;
  const uint32_t request = owner.posted.empty() ? owner.waiting.head : owner.posted.head;
  if (request != VerbsRequest::kNone) owner.failed_index = requests_[request].index;
}

// The work requests from `serial` on were not taken. A request of which some were can end by no completion: those
// before `serial` may have succeeded, and need not tell.
void VerbsTransport::fail_refused(uint32_t end, uint32_t serial) noexcept {
  VerbsEnd& owner = ends_[end];
  note_failure(end, {.status = WorkStatus::kGeneral});
  RequestList refused, posted = std::exchange(owner.posted, {});
  while (!posted.empty()) {
    const uint32_t slot = posted.pop(requests_);
    const bool taken = is_before(requests_[slot].last_serial, serial);
    (taken ? owner.posted : refused).push(requests_, slot);
  }
  // The last of what was to be posted is its.
  if (std::exchange(owner.head_work, 0) > 0) refused.push(requests_, owner.waiting.pop(requests_));
  owner.failed_index = requests_[refused.head].index;
  owner.next_serial = serial;
  fail_connection(end);
  while (!refused.empty()) finish(end, refused.pop(requests_), failure_of(WorkStatus::kGeneral));
}

// Its peer may not hear of that, nor would a message's other parts make sense without this one: as a connection manager
// would, it ends all queue pairs that carry the same messages.
void VerbsTransport::fail_connection(uint32_t end) noexcept {
  const ConnectionEnds& ends = connections_[ends_[end].connection.value];
  const uint32_t members = is_split(ends) ? options_.queue_pairs : 1;
  for (const uint32_t side : {ends.source, ends.destination}) {
    if (side == kNone) continue;
    const uint32_t first = members > 1 ? side : side + ends_[end].member;
    for (uint32_t i = 0; i < members; ++i) fail_end(first + i);
  }
}

// What has been posted wholly fails when it is flushed: it may have succeeded already, and its last work request tells.
// What has been posted in part cannot have, and may never tell. Its memory is used by no other request: those of
// several work requests use memory of their queue pair, which begins no more.
void VerbsTransport::fail_end(uint32_t end) noexcept {
  VerbsEnd& owner = ends_[end];
  if (owner.state != VerbsEnd::State::kOpen) return;
  owner.state = VerbsEnd::State::kFailed;
  if (!owner.queue_pair->fail()) {
    ++details_.ends_refused;
    abandon(end);
    // Not why its messages failed.
    if (owner.device_error == nullptr) owner.device_error = "the device refused to end the queue pair";
    return;
  }
  owner.head_work = 0;
  while (!owner.waiting.empty()) finish(end, owner.waiting.pop(requests_), owner.flushed());
  if (!options_.shared_receive_queue) return;
  owner.receives_flushed = true;
  fail_offers(end);
}

bool VerbsTransport::hears_nothing(const VerbsEnd& end) const noexcept {
  return end.state != VerbsEnd::State::kOpen && (end.state != VerbsEnd::State::kFailed || end.receives_flushed);
}

void VerbsTransport::fail_offers(uint32_t end) noexcept {
  VerbsEnd& owner = ends_[end];
  while (owner.oldest_offer != kNone) {
    const uint32_t offer = owner.oldest_offer;
    owner.oldest_offer = offers_[offer].next;
    close_offer(offer, Failure::kFlushed);
  }
}

void VerbsTransport::finish(uint32_t end, uint32_t request, Failure failure) noexcept {
  VerbsEnd& owner = ends_[end];
  const VerbsRequest finished = requests_[request];
  switch (finished.purpose) {
    case Purpose::kData:
    case Purpose::kControl:
      if (finished.purpose == Purpose::kData && options_.payload == PayloadMode::kChecking) ++owner.freed;
      if (failure == Failure::kNone) {
        ++owner.messages;
        owner.bytes += finished.bytes;
      }
      end_part(finished.subject, failure);
      break;
    case Purpose::kReadyToSend:
      close_offer(finished.subject, failure);
      break;
    case Purpose::kGet:
      return failure == Failure::kNone ? on_fetched(end, request) : fail_get(end, request, failure);
    case Purpose::kGetFinished:
      gets_.give_back(finished.subject);
      break;
  }
  requests_.give_back(request);
}

void VerbsTransport::end_part(uint32_t transfer, Failure failure) noexcept {
  Transfer& whole = transfers_[transfer];
  whole.fail(failure);
  whole.acked = last_now_;
  if (--whole.outstanding == 0) ended_transfers_.push(transfer);
}

void VerbsTransport::close_offer(uint32_t offer, Failure failure) noexcept {
  const uint32_t transfer = rankwire::close_offer(offers_, offer, transfers_, failure);
  if (transfer != kNone) end_part(transfer, failure);
}

size_t VerbsTransport::report_ended(std::span<Event> events) noexcept {
  size_t n = 0;
  for (; n < events.size() && !ended_transfers_.empty(); ++n) {
    const uint32_t transfer = ended_transfers_.pop();
    const Transfer& whole = transfers_[transfer];
    const bool sent = whole.failure == Failure::kNone;
    Event& event = events[n] = Event();
    event.kind = sent ? EventKind::kSent : EventKind::kFailed;
    event.failure = whole.failure;
    event.connection = whole.connection;
    event.index = whole.index;
    event.bytes = Bytes(whole.bytes);
    event.sent = {whole.posted, Time::never(), Time::never(), sent ? whole.acked : Time::never()};
    transfers_.give_back(transfer);
    --messages_taken_;
    ++(sent ? counters_.messages_sent : counters_.messages_failed);
  }
  return n;
}

}  // namespace rankwire
