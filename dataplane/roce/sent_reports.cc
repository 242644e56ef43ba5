#include "dataplane/roce/sent_reports.h"

#include <algorithm>

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

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

size_t SentReports::take(std::span<Event> events, Time now) noexcept {
  size_t n = 0;
  while (n < events.size()) {
    if (outbound_.any_ended()) {
      const uint32_t transfer = outbound_.take_ended();
      Transfer& whole = outbound_.transfers[transfer];
      if (whole.failure != Failure::kNone) whole.acked = Time::never();
      if (whole.first_tx == Time::never()) whole.last_tx = Time::never();
      write_sent_event(whole, whole.connection, whole.index, events[n]);
      if (causes_.on()) events[n].causes = accounts_.keep(accounts_.take_transfer(transfer));
      count_end(events[n++]);
      outbound_.transfers.give_back(transfer);
    } else if (!outbound_.pool.finished.empty()) {
      n += settle(outbound_.pool.finished.pop_front(outbound_.pool.messages), events.subspan(n), now);
    } else {
      break;
    }
  }
  return n;
}

// A request has finished. Returns the number of events: one if a message ends with it.
[[gnu::always_inline]] inline size_t SentReports::settle(uint32_t slot, std::span<Event> events, Time now) noexcept {
  const OutboundMessage& request = outbound_.pool.messages[slot];
  const RequestContext context(request);
  tables_.ends[request.queue_pair].packets += packets_of(request);
  size_t n = 0;
  switch (context.purpose()) {
    case Purpose::kMessage:
    case Purpose::kControl:
      count_sent(request);
      write_sent_event(request, tables_.ends[request.queue_pair].outbound, request.index, events[n]);
      if (causes_.on()) events[n].causes = accounts_.keep(causes_.take_share(request.queue_pair, now));
      count_end(events[n++]);
      break;
    case Purpose::kPart:
      count_sent(request);
      add_to_transfer(context.subject(), request, now);
      outbound_.end_part(context.subject());
      break;
    case Purpose::kReadyToSend:
      add_to_transfer(outbound_.offers[context.subject()].transfer, request, now);
      outbound_.close_offer(context.subject(), request.failure);
      break;
    case Purpose::kGet:
      if (request.failure == Failure::kNone) break;
      if (const std::optional<Event> failed = rendezvous_.fail(request)) events[n++] = *failed;
      break;
    case Purpose::kGetFinished:
      outbound_.gets.give_back(context.subject());
      break;
  }
  outbound_.pool.messages.give_back(slot);
  return n;
}

// Data packets that a request has taken which has ended.
uint64_t SentReports::packets_of(const OutboundMessage& request) const noexcept {
  if (request.failure != Failure::kNone) return packets_so_far(request);
  return request.verb == Verb::kRead ? 0 : request.packets + uint64_t{request.retransmissions};
}

// Of one that may have been sent in part.
uint64_t SentReports::packets_so_far(const OutboundMessage& request) const noexcept {
  if (!request.started() || request.verb == Verb::kRead) return 0;
  const int32_t sent = psn_distance(request.first_psn, tables_.requesters[request.queue_pair].end_psn());
  return std::min(static_cast<uint32_t>(sent), request.packets) + uint64_t{request.retransmissions};
}

void SentReports::count_sent(const OutboundMessage& request) noexcept {
  if (request.failure != Failure::kNone) return;
  QueuePairEnd& flow = tables_.ends[request.queue_pair];
  flow.bytes += request.bytes;
  if (!has_following_immediate(request, options_.verb)) ++flow.messages;
}

void SentReports::count_end(const Event& event) noexcept {
  outbound_.reported();
  ++(event.kind == EventKind::kSent ? counters_.totals.messages_sent : counters_.totals.messages_failed);
}

void SentReports::add_to_transfer(uint32_t transfer, const OutboundMessage& request, Time now) noexcept {
  if (causes_.on()) accounts_.add_to_transfer(transfer, causes_.take_share(request.queue_pair, now));
  outbound_.add(transfer, request);
}

template <class Take>
void SentReports::for_each_finished(Take take) const noexcept {
  const auto& messages = outbound_.pool.messages;
  for (uint32_t slot = outbound_.pool.finished.head; slot != OutboundMessage::kNone; slot = messages[slot].next)
    take(messages[slot], packets_of(messages[slot]));
}

template <class Take>
void SentReports::for_each_unfinished(uint32_t queue_pair, Take take) const noexcept {
  const auto& messages = outbound_.pool.messages;
  for (uint32_t slot = tables_.requesters[queue_pair].oldest_message(); slot != OutboundMessage::kNone;
       slot = messages[slot].next)
    take(packets_so_far(messages[slot]));
}

std::vector<uint64_t> SentReports::packets_under_way() const {
  std::vector<uint64_t> all(tables_.size);
  for_each_finished([&](const OutboundMessage& request, uint64_t packets) { all[request.queue_pair] += packets; });
  for (uint32_t i = 0; i < tables_.size; ++i) for_each_unfinished(i, [&](uint64_t packets) { all[i] += packets; });
  return all;
}

uint64_t SentReports::packets_under_way(uint32_t queue_pair) const noexcept {
  uint64_t sum = 0;
  for_each_finished([&](const OutboundMessage& request, uint64_t packets) {
    if (request.queue_pair == queue_pair) sum += packets;
  });
  for_each_unfinished(queue_pair, [&](uint64_t packets) { sum += packets; });
  return sum;
}

}  // namespace rankwire
