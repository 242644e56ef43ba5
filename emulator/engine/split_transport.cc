#include "emulator/engine/split_transport.h"

#include <algorithm>
#include <utility>

namespace rankwire {

SplitTransport::SplitTransport(std::unique_ptr<Transport> wire, std::unique_ptr<Transport> local, LinkLoads* loads)
    : wire_(std::move(wire)), local_(std::move(local)), loads_(loads), senders_(*wire_) {}

std::vector<EndPoint> SplitTransport::prepare(const TransportPlan& plan) {
  path_.reserve(plan.connections.size());
  for (const Connection& c : plan.connections) path_.push_back(c.path);
  if (loads_ != nullptr)
    for (const Connection& c : plan.connections) is_load_.push_back(c.path == Path::kWire && !c.control);
  if (loads_ != nullptr) loads_->hold_loads(senders_);
  std::vector<EndPoint> ends = wire_->prepare(plan);
  std::vector<EndPoint> local = local_->prepare(plan);
  std::erase_if(ends, [&](const EndPoint& e) { return !is_on_wire(e.connection); });
  std::copy_if(local.begin(), local.end(), std::back_inserter(ends),
               [&](const EndPoint& e) { return !is_on_wire(e.connection); });
  return ends;
}

std::vector<ConnectFailure> SplitTransport::connect(std::span<const EndPoint> remote) {
  const auto on_wire = [&](const EndPoint& e) { return is_on_wire(e.connection); };
  // As `prepare` gives them. Of very many a copy is much.
  std::vector<EndPoint> sorted;
  if (!std::ranges::is_partitioned(remote, on_wire)) {
    sorted.assign(remote.begin(), remote.end());
    std::stable_partition(sorted.begin(), sorted.end(), on_wire);
    remote = sorted;
  }
  const auto wire = static_cast<size_t>(std::ranges::partition_point(remote, on_wire) - remote.begin());
  std::vector<ConnectFailure> failures = wire_->connect(remote.first(wire));
  for (ConnectFailure& failure : local_->connect(remote.subspan(wire))) failures.push_back(std::move(failure));
  return failures;
}

size_t SplitTransport::post(Time now, std::span<const Message> messages) noexcept {
  size_t taken = 0;
  while (taken < messages.size()) {
    Transport& transport = of(messages[taken].connection);
    size_t end = taken + 1;
    while (end < messages.size() && &of(messages[end].connection) == &transport) ++end;
    const std::span<const Message> part = messages.subspan(taken, end - taken);
    taken += &transport == wire_.get() ? post_to_wire(now, part) : transport.post(now, part);
    unsettled_ = loads_ != nullptr;
    if (taken < end) break;
  }
  return taken;
}

size_t SplitTransport::post_to_wire(Time now, std::span<const Message> messages) noexcept {
  const size_t taken = wire_->post(std::max(now, wire_time_), messages);
  if (loads_ == nullptr) return taken;
  for (const Message& message : messages.first(taken))
    if (is_load_[message.connection.value] != 0) loads_->begin_load(message.connection, now);
  return taken;
}

// Each message that was posted comes to one end at its source.
void SplitTransport::note_ends(Time now, std::span<const Event> events) noexcept {
  if (loads_ == nullptr) return;
  for (const Event& event : events) {
    const bool ends = event.at_source && (event.kind == EventKind::kSent || event.kind == EventKind::kFailed);
    if (ends && is_load_[event.connection.value] != 0) loads_->end_load(event.connection, now);
  }
}

void SplitTransport::settle(Time now) noexcept {
  if (std::exchange(unsettled_, false)) loads_->settle(now);
}

size_t SplitTransport::poll(Time now, std::span<Event> events) noexcept {
  settle(now);
  const size_t n = wire_->poll(now, events);
  note_ends(now, events.first(n));
  return n + local_->poll(now, events.subspan(n));
}

size_t SplitTransport::receive(Time now, std::span<Event> events) noexcept {
  const size_t n = wire_->receive(now, events);
  note_ends(now, events.first(n));
  return n + local_->receive(now, events.subspan(n));
}

void SplitTransport::Model::tend(Time now) noexcept {
  whole_.wire_time_ = now;
  whole_.wire_->receive(now, {});
  whole_.wire_->send_due(now);
}

void SplitTransport::send_due(Time now) noexcept {
  settle(now);
  wire_->send_due(now);
  local_->send_due(now);
}

Time SplitTransport::run_ahead(Time limit) noexcept {
  const Time local = local_->next_event();
  return std::min(local, wire_->run_ahead(std::min(limit, local)));
}

Time SplitTransport::next_event() const noexcept {
  return std::min(wire_->next_event(), local_->next_event());
}

TransportCounters SplitTransport::counters() const {
  return wire_->counters();
}

std::vector<FlowCounters> SplitTransport::flows_of(ConnectionRange range) const {
  std::vector<FlowCounters> flows = wire_->flows_of(range);
  std::erase_if(flows, [&](const FlowCounters& f) { return !is_on_wire(f.connection); });
  for (const FlowCounters& f : local_->flows_of(range))
    if (!is_on_wire(f.connection)) flows.push_back(f);
  std::ranges::stable_sort(flows, {}, [](const FlowCounters& f) { return f.connection.value; });
  return flows;
}

std::vector<PortCounters> SplitTransport::ports() const {
  return wire_->ports();
}

std::vector<ConnectFailure> SplitTransport::not_ready() const {
  return wire_->not_ready();
}

std::vector<NamedCounter> SplitTransport::details() const {
  return wire_->details();
}

std::vector<PortLatency> SplitTransport::latencies() const {
  return wire_->latencies();
}

std::string SplitTransport::describe(ConnectionId connection) const {
  return of(connection).describe(connection);
}

std::vector<QueuePairState> SplitTransport::states(ConnectionId connection) const {
  return of(connection).states(connection);
}

void SplitTransport::close() noexcept {
  wire_->close();
  local_->close();
}

}  // namespace rankwire
