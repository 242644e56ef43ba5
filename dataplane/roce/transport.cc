#include "dataplane/roce/transport.h"

#include <algorithm>
#include <utility>

#include "dataplane/roce/parts.h"
#include "dataplane/roce/rate_series.h"

namespace rankwire {

RoceTransport::RoceTransport(const RoceOptions& options, std::vector<PortBinding> ports, Doorbells* bells)
    : options_(options), bindings_(std::move(ports)), bells_(bells) {}

RoceTransport::~RoceTransport() {
  close();
}

std::vector<EndPoint> RoceTransport::prepare(const TransportPlan& plan) {
  check_options(options_);
  check_plan(options_, bindings_, plan);
  parts_ = std::make_unique<RoceParts>(options_, bindings_, bells_, plan);
  if (options_.rates != nullptr) begin_rates();
  std::vector<EndPoint> ends;
  ends.reserve(parts_->pairs.size());
  for (uint32_t i = 0; i < parts_->pairs.size(); ++i) ends.push_back(parts_->pairs.end_point(i));
  return ends;
}

void RoceTransport::begin_rates() {
  const QueuePairs& pairs = parts_->pairs;
  uint32_t ports = 0;
  for (const PortBinding& binding : bindings_) ports = std::max(ports, binding.id.value + 1);
  options_.rates->ports.begin(ports);
  options_.rates->allowances.begin(has_congestion_control(options_) ? pairs.size() : 0);
  options_.rates->senders.clear();
  for (const QueuePairEnd& end : pairs.ends)
    options_.rates->senders.push_back({end.outbound.valid() ? end.outbound : end.connection, end.member});
}

std::vector<ConnectFailure> RoceTransport::connect(std::span<const EndPoint> remote) {
  QueuePairs& pairs = parts_->pairs;
  const std::vector<const EndPoint*> peers = pairs.peers_among(remote);
  std::vector<ConnectFailure> failures;
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    std::string reason = pairs.connect(i, peers[i], parts_->codec.pattern_icrc);
    if (reason.empty() && options_.neighbours == NeighbourMode::kResolve) reason = parts_->links.resolve(i);
    const ConnectionId connection = pairs.ends[i].connection;
    if (reason.empty() || (!failures.empty() && failures.back().connection == connection)) continue;
    failures.push_back({connection, std::move(reason)});
  }
  return failures;
}

bool RoceTransport::ready() const noexcept {
  return parts_->links.ready();
}

std::vector<ConnectFailure> RoceTransport::not_ready() const {
  return parts_->links.not_ready();
}

size_t RoceTransport::post(Time now, std::span<const Message> messages) noexcept {
  parts_->loop.note_post(now);
  return parts_->poster.post(now, messages);
}

size_t RoceTransport::poll(Time now, std::span<Event> events) noexcept {
  parts_->loop.turn(now);
  return report(now, events);
}

size_t RoceTransport::receive(Time now, std::span<Event> events) noexcept {
  parts_->loop.receive(now);
  return report(now, events);
}

void RoceTransport::send_due(Time now) noexcept {
  parts_->loop.transmit(now);
}

void RoceTransport::hold(ConnectionId connection, Bandwidth rate, Time now) noexcept {
  if (parts_->holds) parts_->holds->hold(connection, rate, std::max(now, parts_->loop.now()));
}

size_t RoceTransport::report(Time now, std::span<Event> events) noexcept {
  RoceParts& parts = *parts_;
  parts.accounts.forget_events();
  const size_t delivered = parts.deliveries.take(events);
  const size_t reported = delivered + parts.reports.take(events.subspan(delivered), now);
  parts.counters.events += reported;
  return reported;
}

Time RoceTransport::next_event() const noexcept {
  return parts_->loop.next_event();
}

Time RoceTransport::run_ahead(Time limit) noexcept {
  return parts_->run_ahead.run(limit);
}

uint64_t RoceTransport::activity() const noexcept {
  return parts_ ? parts_->figures.activity() : 0;
}

TransportCounters RoceTransport::counters() const {
  return parts_ ? parts_->figures.counters() : TransportCounters();
}

std::vector<FlowCounters> RoceTransport::flows_of(ConnectionRange range) const {
  return parts_ ? parts_->figures.flows_of(range, parts_->loop.now()) : std::vector<FlowCounters>();
}

std::optional<FlowPackets> RoceTransport::packets_of(ConnectionId connection) const noexcept {
  return parts_->figures.packets_of(connection);
}

std::vector<PortCounters> RoceTransport::ports() const {
  std::vector<PortCounters> ports;
  for (const PortBinding& binding : bindings_) {
    PortCounters& counters = ports.emplace_back(binding.port->counters());
    counters.port = binding.id;
    counters.hardware_time = binding.port->capabilities().hardware_time;
  }
  if (parts_) parts_->figures.add_to(ports, parts_->loop.now());
  return ports;
}

std::vector<NamedCounter> RoceTransport::details() const {
  return parts_ ? parts_->figures.details() : std::vector<NamedCounter>();
}

std::vector<PortLatency> RoceTransport::latencies() const {
  return parts_ ? parts_->figures.latencies() : std::vector<PortLatency>();
}

std::string RoceTransport::describe(ConnectionId connection) const {
  return parts_->describer.describe(connection, parts_->loop.now());
}

std::vector<QueuePairState> RoceTransport::states(ConnectionId connection) const {
  return parts_->describer.states(connection);
}

size_t RoceTransport::queue_pair_bytes() const noexcept {
  return parts_ ? parts_->queue_pair_bytes() : 0;
}

void RoceTransport::close() noexcept {
  if (!parts_) return;
  for (uint32_t i = 0; i < parts_->pairs.size(); ++i) parts_->ending.drop_early(i);
  parts_->lanes.close();
}

}  // namespace rankwire
