#include "dataplane/roce/transport.h"

#include <algorithm>

namespace rankwire {
namespace {

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
      loop_(options.standstill, first_timeout(reliable_), bells == nullptr) {}

RoceTransport::~RoceTransport() {
  close();
}

size_t RoceTransport::post(Time now, std::span<const Message> messages) noexcept {
  last_now_ = now;
  return poster_->post(now, messages);
}

size_t RoceTransport::poll(Time now, std::span<Event> events) noexcept {
  make_progress(now);
  accounts_.forget_events();
  const size_t delivered = deliveries_->take(events);
  const size_t reported = delivered + reports_->take(events.subspan(delivered), now);
  counters_->events += reported;
  return reported;
}

void RoceTransport::make_progress(Time now) noexcept {
  loop_.look(now);
  last_now_ = now;
  requests_->place_waiting(now);
  if (watch_->on()) {
    poll_due(now);
  } else {
    poll_all(now);
  }
  if (options_.neighbours == NeighbourMode::kResolve) links_->follow(now);
}

void RoceTransport::poll_all(Time now) noexcept {
  for (uint32_t lane = 0; lane < lanes_->size(); ++lane) receiver_->receive(lane, now);
  steps_->expire(now);
  for (uint32_t lane = 0; lane < lanes_->size(); ++lane) transmitter_->transmit(lane, now);
}

bool RoceTransport::has_to_report() const noexcept {
  return deliveries_->any() || requests_->any_waiting() || reports_->any();
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
  return std::min(next, steps_->earliest_expiry(next));
}

bool RoceTransport::ready() const noexcept {
  return links_->ready();
}

std::vector<ConnectFailure> RoceTransport::not_ready() const {
  return links_->not_ready();
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
    const RocePort& port = lanes_->port_of(lane);
    if (!counters.hardware_time) counters.arrival_error = loop_.intervals().quantile(0.5);
    if (port.first_lane != lane) continue;
    port.add_pauses(counters, last_now_);
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
  for (uint32_t i = 0; i < pairs_->size(); ++i) ending_->drop_early(i);
  lanes_->close();
}

}  // namespace rankwire
