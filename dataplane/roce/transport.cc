#include "dataplane/roce/transport.h"

#include <algorithm>

#include "dataplane/roce/after_step.h"

namespace rankwire {
namespace {

constexpr size_t kDeliveries = 1024;

ReliableOptions reliable_options_of(const RoceOptions& options) {
  ReliableOptions reliable = reliable_options(options.profile, options.mtu);
  if (follows_acknowledgements(options)) reliable.ack_every = 1;
  return reliable;
}

}  // namespace

RoceTransport::RoceTransport(const RoceOptions& options, std::vector<PortBinding> ports, Doorbells* bells)
    : options_(options),
      reliable_(reliable_options_of(options)),
      bindings_(std::move(ports)),
      bells_(bells),
      loop_(options.standstill, first_timeout(reliable_), bells == nullptr),
      delivered_(kDeliveries) {}

RoceTransport::~RoceTransport() {
  close();
}

size_t RoceTransport::poll(Time now, std::span<Event> events) noexcept {
  make_progress(now);
  causes_.forget_events();
  const size_t delivered = take_delivered(events);
  const size_t reported = delivered + report_finished(events.subspan(delivered));
  counters_->events += reported;
  return reported;
}

void RoceTransport::make_progress(Time now) noexcept {
  loop_.look(now);
  last_now_ = now;
  while (!place_later_.empty() && delivered_.capacity() - delivered_.size() > kReceiveBurst)
    place_early(place_later_.pop(), now);
  if (watch_->on()) {
    poll_due(now);
  } else {
    poll_all(now);
  }
  if (options_.neighbours == NeighbourMode::kResolve) follow_next_hops();
}

void RoceTransport::poll_all(Time now) noexcept {
  for (uint32_t lane = 0; lane < lanes_->size(); ++lane) receive(lane, now);
  expire(now);
  for (uint32_t lane = 0; lane < lanes_->size(); ++lane) transmit(lane, now);
}

bool RoceTransport::has_to_report() const noexcept {
  return delivered_.size() > 0 || !place_later_.empty() || outbound_->any_ended() || !outbound_->pool.finished.empty();
}

// When the lane has something to receive or to send, as far as it is known now.
Time RoceTransport::next_event_of(uint32_t lane) const noexcept {
  const Time next = std::min((*lanes_)[lane].wake(), (*lanes_)[lane].port().next_event());
  return paced_ ? std::min(next, paced_->next_event(lane)) : next;
}

Time RoceTransport::next_event() const noexcept {
  if (has_to_report()) return last_now_;
  Time next = Time::never();
  if (watch_->on()) {
    next = watch_->next([this](uint32_t lane) { return next_event_of(lane); });
  } else {
    for (uint32_t lane = 0; lane < lanes_->size(); ++lane) next = std::min(next, next_event_of(lane));
  }
  return std::min(next, earliest_expiry(next));
}

// When the requester's deadline takes effect: a time-out later after a standstill.
Time RoceTransport::expiry(uint32_t queue_pair) const noexcept {
  const Requester& requester = pairs_->requesters[queue_pair];
  const bool is_timeout = (requester.holds() & Requester::kReceiverNotReady) == 0;
  return is_timeout ? std::max(requester.deadline(), loop_.hold_until()) : requester.deadline();
}

// When the first deadline takes effect, if that is `before`; otherwise no earlier.
Time RoceTransport::earliest_expiry(Time before) const noexcept {
  return deadlines_.earliest(before, [this](uint32_t queue_pair) { return expiry(queue_pair); });
}

void RoceTransport::expire(Time now) noexcept {
  while (earliest_expiry(now + Duration(1)) <= now) {
    const uint32_t queue_pair = deadlines_.next([this](uint32_t armed) { return expiry(armed); });
    const Time deadline = pairs_->requesters[queue_pair].deadline();
    if (pairs_->requesters[queue_pair].expire(outbound_->pool) != AckOutcome::kResumed) {
      counters_->count_timeout(queue_pair);
      if (paced_) paced_->control().rewound(queue_pair, now);
      if (causes_.on()) causes_.blame(queue_pair, Cause::kRecovering);
    }
    after_step(queue_pair, now, deadline);
  }
}

// What `after_step` leaves to be done for requesters that have failed, or whose sending something else looks at, too.
void RoceTransport::after_watched_step(uint32_t queue_pair, Time now) noexcept {
  const Requester& requester = pairs_->requesters[queue_pair];
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  if (requester.state() == Requester::State::kError) return fail_connection(queue_pair);
  if (requester.can_send(reliable_) && end.link == LinkState::kOpen) {
    if (paced_) {
      offer_sender(queue_pair, now);
    } else {
      (*lanes_)[end.lane].senders.push(queue_pair);
    }
  }
  if (causes_.on()) note_cause(queue_pair, now);
}

// A requester has given up. Its peer would never hear of that on the wire, nor would a message's other parts make sense
// without this one: as a connection manager would, it ends all queue pairs that carry the same messages.
void RoceTransport::fail_connection(uint32_t queue_pair) noexcept {
  const ConnectionEnds& ends = pairs_->connections[pairs_->ends[queue_pair].connection.value];
  const uint32_t members = pairs_->is_split(ends) ? options_.queue_pairs : 1;
  for (const uint32_t side : {ends.source, ends.destination}) {
    if (side == kNone) continue;
    const uint32_t first = members > 1 ? side : side + pairs_->ends[queue_pair].member;
    for (uint32_t i = 0; i < members; ++i) fail_queue_pair(first + i);
  }
  if (members > 1) assembly_.forget(pairs_->ends[queue_pair].connection);
}

// IBTA 10.3.1: the error state is the queue pair's, not one half's. It drops what arrives.
void RoceTransport::fail_queue_pair(uint32_t queue_pair) noexcept {
  QueuePairEnd& end = pairs_->ends[queue_pair];
  if (end.failed) return;
  end.failed = true;
  deadlines_.disarm(queue_pair);
  if (early_) drop_early(queue_pair);
  if (causes_.on()) causes_.note(queue_pair, std::nullopt, last_now_, time_paused(queue_pair, last_now_));
  if (pairs_->requesters[queue_pair].state() != Requester::State::kError)
    pairs_->requesters[queue_pair].fail(outbound_->pool, Failure::kFlushed);
  const Failure failure = end.link == LinkState::kUnreachable ? Failure::kUnreachable : Failure::kFlushed;
  outbound_->close_offers(queue_pair, failure);
}

TransportCounters RoceTransport::counters() const {
  if (!counters_) return {};
  TransportCounters counters = counters_->totals;
  counters.packets_tx = counters_->packets_tx();
  if (options_.payload == PayloadMode::kChecking) counters.payload_copies = counters.data_packets_tx;
  for (uint32_t port = 0; port < lanes_->ports(); ++port) {
    counters.pause_tx += lanes_->port(port).pause_tx;
    counters.pause_rx += lanes_->port(port).pause_rx;
  }
  for (const TransmitLane& lane : lanes_->all()) {
    const Pacer& pacer = lane.pacer();
    counters.stalls += pacer.stalls();
    counters.worst_stall = std::max(counters.worst_stall, pacer.worst_stall());
    counters.slipped = std::max(counters.slipped, pacer.slipped());
  }
  if (paced_) counters.pacing_slipped = paced_->longest_slip();
  return counters;
}

std::vector<PortCounters> RoceTransport::ports() const {
  std::vector<PortCounters> ports;
  for (uint32_t lane = 0; lane < bindings_.size(); ++lane) {
    PortCounters& counters = ports.emplace_back(bindings_[lane].port->counters());
    counters.port = bindings_[lane].id;
    counters.hardware_time = bindings_[lane].port->capabilities().hardware_time;
    if (!lanes_) continue;
    const Port& port = lanes_->port_of(lane);
    if (!counters.hardware_time) counters.arrival_error = loop_.intervals().quantile(0.5);
    if (port.first_lane != lane) continue;
    add_pauses(port, counters);
    counters.rdma = rdma_of(port.id);
    counters.rx_icrc_encapsulated = port.icrc_errors;
  }
  return ports;
}

std::vector<PortLatency> RoceTransport::latencies() const {
  std::vector<PortLatency> latencies;
  if (!lanes_) return latencies;
  for (uint32_t port = 0; port < lanes_->ports(); ++port) latencies_.append_to(latencies, port, lanes_->port(port).id);
  return latencies;
}

void RoceTransport::close() noexcept {
  if (!lanes_) return;
  if (early_)
    for (uint32_t i = 0; i < pairs_->size(); ++i) drop_early(i);
  lanes_->close();
}

}  // namespace rankwire
