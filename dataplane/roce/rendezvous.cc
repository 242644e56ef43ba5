#include "dataplane/roce/rendezvous.h"

#include <algorithm>

#include "dataplane/protocol/rendezvous.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

}  // namespace

void Rendezvous::on_message(uint32_t queue_pair, std::span<const uint8_t> payload, Time arrival, Time now) noexcept {
  const auto ready = control_message<ReadyToSend>(payload);
  if (ready && take_up(queue_pair, *ready, now)) return;
  const auto finished = control_message<GetFinished>(payload);
  if (!finished || !end_offer(queue_pair, finished->cookie.value(), arrival)) ++counters_.details.unknown_offers;
  pairs_.responders[queue_pair].post_receives(1);
}

bool Rendezvous::admits(ConnectionId connection, std::span<const uint8_t> payload) const noexcept {
  const auto ready = control_message<ReadyToSend>(payload);
  return !ready || (!outbound_.gets.full() && deliveries_.admits(connection, ready->index.value()));
}

// The receive that the offer consumed is posted again when the application has taken the message.
bool Rendezvous::take_up(uint32_t queue_pair, const ReadyToSend& ready, Time now) noexcept {
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  const uint32_t bytes = ready.length.value();
  if (!end.inbound.valid() || bytes > INT32_MAX || packets_of(bytes, options_.mtu) > kMaxReadPackets) return false;
  const uint32_t index = ready.index.value();
  deliveries_.open(end.inbound, index);
  const uint32_t get = outbound_.gets.take();
  outbound_.gets[get].cookie = ready.cookie.value();
  OutboundMessage request;
  request.posted = now;
  request.verb = Verb::kRead;
  request.bytes = bytes;
  request.remote_address = ready.address.value();
  request.rkey = ready.rkey.value();
  request.immediate = request.index = index;
  request.queue_pair = queue_pair;
  request.context = RequestContext(Purpose::kGet, get).bits();
  poster_.post_request(request);
  return true;
}

bool Rendezvous::end_offer(uint32_t queue_pair, uint32_t cookie, Time arrival) noexcept {
  // READs of a queue pair are answered in order.
  if (const uint32_t oldest = outbound_.oldest_offer(queue_pair); oldest == QueuePairs::kNone || oldest != cookie)
    return false;
  const Offer& offer = outbound_.offers[cookie];
  outbound_.pop_offer(queue_pair);
  Transfer& transfer = outbound_.transfers[offer.transfer];
  transfer.acked = std::max(transfer.acked, arrival);
  ++pairs_.ends[queue_pair].messages;
  pairs_.ends[queue_pair].bytes += offer.bytes;
  outbound_.close_offer(cookie, Failure::kNone);
  return true;
}

void Rendezvous::on_fetched(uint32_t queue_pair, const ParsedPacket& packet, const ReadReception& reception,
                            Time arrival, Time now) noexcept {
  const OutboundMessage& request = outbound_.pool.messages[reception.message];
  const uint32_t get_slot = RequestContext(request).subject();
  Get& get = outbound_.gets[get_slot];
  get.first_rx = std::min(get.first_rx, arrival);
  if (packet.ecn == Ecn::kCongestionExperienced) {
    ++get.marks;
    ++counters_.of[queue_pair].marks;
  }
  if (options_.payload == PayloadMode::kChecking)
    get.check.add(reception.offset, std::span(packet.payload, packet.payload_length));
  if (!reception.last) return;

  OutboundMessage finished;
  finished.posted = now;
  finished.verb = Verb::kSend;
  finished.bytes = sizeof(GetFinished);
  finished.immediate = finished.index = request.index;
  finished.queue_pair = queue_pair;
  finished.context = RequestContext(Purpose::kGetFinished, get_slot).bits();
  poster_.post_request(finished);

  ReceivedPart part{.first_rx = get.first_rx, .delivered = arrival, .bytes = request.bytes, .marks = get.marks};
  if (options_.payload == PayloadMode::kChecking) {
    part.key = get.check.key();
    part.payload_good = get.check.matches();
  }
  ++pairs_.inboxes[queue_pair].delivered;
  // The cookie is what the peer says.
  if (pairs_.ends[queue_pair].peer != QueuePairs::kNone && get.cookie < outbound_.offers.size())
    latencies_.add_one_way(lanes_.port_index(pairs_.ends[queue_pair].lane), outbound_.offers[get.cookie].last_tx,
                           arrival);
  deliveries_.deliver(queue_pair, request.index, part, 1);
}

std::optional<Event> Rendezvous::fail(const OutboundMessage& request) noexcept {
  outbound_.gets.give_back(RequestContext(request).subject());
  return deliveries_.complete(request.queue_pair, request.index, {.failure = request.failure});
}

}  // namespace rankwire
