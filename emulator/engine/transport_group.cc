#include "emulator/engine/transport_group.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/transport_counters.h"

namespace rankwire {

TransportGroup::LongConnect::LongConnect(Transport& transport, std::vector<EndPoint> remote)
    : thread_([this, &transport, ends = std::move(remote)] {
        try {
          failures_ = transport.connect(ends);
        } catch (...) {
          error_ = std::current_exception();
        }
        done_.store(true, std::memory_order_release);
      }) {}

void TransportGroup::LongConnect::wait() noexcept {
  if (thread_.joinable()) thread_.join();
}

const std::vector<ConnectFailure>& TransportGroup::LongConnect::failures() {
  wait();
  if (error_) std::rethrow_exception(error_);
  return failures_;
}

TransportGroup::TransportGroup(std::vector<Part> parts, Routing routing)
    : parts_(std::move(parts)), connects_(parts_.size()), routing_(std::move(routing)) {}

TransportGroup::~TransportGroup() {
  close();
}

std::vector<EndPoint> TransportGroup::prepare(const TransportPlan& plan) {
  routes_ = routing_(plan);
  std::vector<EndPoint> ends;
  for (const Part& part : parts_) {
    for (EndPoint& end : part.transport->prepare(plan)) ends.push_back(end);
  }
  return ends;
}

std::vector<ConnectFailure> TransportGroup::connect(std::span<const EndPoint> remote) {
  std::vector<ConnectFailure> failures;
  for (const Part& part : parts_) {
    if (part.connect == ConnectTime::kLong) continue;
    for (ConnectFailure& failure : part.transport->connect(remote)) failures.push_back(std::move(failure));
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].connect == ConnectTime::kShort) continue;
    connects_[i] =
        std::make_unique<LongConnect>(*parts_[i].transport, std::vector<EndPoint>(remote.begin(), remote.end()));
  }
  return failures;
}

bool TransportGroup::ready() const noexcept {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (is_connecting(i) || !parts_[i].transport->ready()) return false;
  }
  return true;
}

std::vector<ConnectFailure> TransportGroup::not_ready() const {
  std::vector<ConnectFailure> failures;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (connects_[i]) std::ranges::copy(connects_[i]->failures(), std::back_inserter(failures));
    std::ranges::copy(parts_[i].transport->not_ready(), std::back_inserter(failures));
  }
  std::ranges::stable_sort(failures, {}, [](const ConnectFailure& f) { return f.connection.value; });
  // The two ends of a connection may fail for different reasons, and one transport may name its reason twice: after
  // `connect` and while it is not ready.
  std::vector<ConnectFailure> by_connection;
  std::vector<std::string> reasons;  // of the last of them
  for (ConnectFailure& failure : failures) {
    if (by_connection.empty() || by_connection.back().connection != failure.connection) {
      by_connection.push_back({failure.connection, {}});
      reasons.clear();
    }
    if (std::ranges::find(reasons, failure.reason) != reasons.end()) continue;
    by_connection.back().reason += (reasons.empty() ? "" : "; ") + failure.reason;
    reasons.push_back(std::move(failure.reason));
  }
  return by_connection;
}

size_t TransportGroup::post(Time now, std::span<const Message> messages) noexcept {
  size_t taken = 0;
  while (taken < messages.size()) {
    const uint32_t part = routes_[messages[taken].connection.value].source;
    size_t end = taken + 1;
    while (end < messages.size() && routes_[messages[end].connection.value].source == part) ++end;
    taken += parts_[part].transport->post(now, messages.subspan(taken, end - taken));
    if (taken < end) break;
  }
  return taken;
}

// In turns first: one that has more to report than there is room cannot silence the others.
template <class Poll>
size_t TransportGroup::poll_parts(std::span<Event> events, Poll poll) noexcept {
  size_t reported = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const size_t part = (first_ + i) % parts_.size();
    if (!is_connecting(part)) reported += poll(*parts_[part].transport, events.subspan(reported));
  }
  first_ = (first_ + 1) % parts_.size();
  return reported;
}

size_t TransportGroup::poll(Time now, std::span<Event> events) noexcept {
  return poll_parts(events, [now](Transport& part, std::span<Event> room) { return part.poll(now, room); });
}

size_t TransportGroup::receive(Time now, std::span<Event> events) noexcept {
  return poll_parts(events, [now](Transport& part, std::span<Event> room) { return part.receive(now, room); });
}

void TransportGroup::send_due(Time now) noexcept {
  for (size_t i = 0; i < parts_.size(); ++i)
    if (!is_connecting(i)) parts_[i].transport->send_due(now);
}

void TransportGroup::hold(ConnectionId connection, Bandwidth rate, Time now) noexcept {
  const uint32_t part = routes_[connection.value].source;
  if (!is_connecting(part)) parts_[part].transport->hold(connection, rate, now);
}

Time TransportGroup::next_event() const noexcept {
  Time next = Time::never();
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!is_connecting(i)) next = std::min(next, parts_[i].transport->next_event());
  }
  return next;
}

uint64_t TransportGroup::activity() const noexcept {
  uint64_t activity = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!is_connecting(i)) activity += parts_[i].transport->activity();
  }
  return activity;
}

TransportCounters TransportGroup::counters() const {
  TransportCounters sum;
  for (const Part& part : parts_) sum += part.transport->counters();
  return sum;
}

// Of a queue pair the source's transport knows everything but what the destination counts: marks, and its own end.
std::vector<FlowCounters> TransportGroup::flows_of(ConnectionRange range) const {
  std::vector<FlowCounters> flows;
  const auto take = [&](size_t i, auto has) {
    for (const FlowCounters& flow : parts_[i].transport->flows_of(range)) {
      if (has(routes_[flow.connection.value])) flows.push_back(flow);
    }
  };
  for (size_t i = 0; i < parts_.size(); ++i) take(i, [i](const Route& route) { return route.source == i; });
  const auto of_sources = static_cast<ptrdiff_t>(flows.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    take(i, [i](const Route& route) { return route.destination == i && route.source != i; });
  }
  std::vector<FlowCounters> others;  // whose sources are elsewhere
  const auto key = [](const FlowCounters& flow) { return std::pair(flow.connection.value, flow.member); };
  std::sort(flows.begin(), flows.begin() + of_sources, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (auto from = flows.begin() + of_sources; from != flows.end(); ++from) {
    if (!is_here(routes_[from->connection.value].source)) {
      others.push_back(*from);
      continue;
    }
    const auto to = std::ranges::lower_bound(flows.begin(), flows.begin() + of_sources, key(*from), {}, key);
    if (to == flows.begin() + of_sources || key(*to) != key(*from)) continue;
    to->marks = from->marks;
    to->arrived = from->arrived;
    if (from->answers) {
      if (!to->answers) to->answers.emplace();
      to->answers->acks_tx = from->answers->acks_tx, to->answers->naks_tx = from->answers->naks_tx;
    }
    to->destination_end = from->destination_end;
    if (to->source_qp == 0) to->source_qp = from->source_qp;
    if (to->destination_qp == 0) to->destination_qp = from->destination_qp;
  }
  flows.erase(flows.begin() + of_sources, flows.end());
  if (others.empty()) return flows;
  flows.insert(flows.end(), others.begin(), others.end());
  std::ranges::sort(flows, {}, key);
  return flows;
}

std::optional<FlowPackets> TransportGroup::packets_of(ConnectionId connection) const noexcept {
  const Route& route = routes_[connection.value];
  const auto of = [&](uint32_t part) {
    return is_here(part) ? parts_[part].transport->packets_of(connection) : FlowPackets();
  };
  const std::optional<FlowPackets> source = of(route.source), destination = of(route.destination);
  if (!source || !destination) return std::nullopt;
  return FlowPackets{.sent = source->sent, .arrived = destination->arrived};
}

std::vector<PortCounters> TransportGroup::ports() const {
  std::vector<PortCounters> ports;
  for (const Part& part : parts_) std::ranges::copy(part.transport->ports(), std::back_inserter(ports));
  std::ranges::stable_sort(ports, {}, [](const PortCounters& port) { return port.port.value; });
  return ports;
}

std::vector<NamedCounter> TransportGroup::details() const {
  std::vector<NamedCounter> details;
  for (const Part& part : parts_) {
    for (const NamedCounter& counter : part.transport->details()) {
      const auto known = std::ranges::find(details, counter.name, &NamedCounter::name);
      if (known == details.end()) {
        details.push_back(counter);
      } else {
        known->value += counter.value;
      }
    }
  }
  return details;
}

std::vector<PortLatency> TransportGroup::latencies() const {
  std::vector<PortLatency> latencies;
  for (const Part& part : parts_) std::ranges::copy(part.transport->latencies(), std::back_inserter(latencies));
  return latencies;
}

std::string TransportGroup::describe(ConnectionId connection) const {
  const Route& route = routes_[connection.value];
  std::string text;
  if (is_here(route.source)) text = parts_[route.source].transport->describe(connection);
  if (route.destination == route.source || !is_here(route.destination)) return text;
  return text + (text.empty() ? "" : "; ") + parts_[route.destination].transport->describe(connection);
}

std::vector<QueuePairState> TransportGroup::states(ConnectionId connection) const {
  const Route& route = routes_[connection.value];
  std::vector<QueuePairState> states;
  if (is_here(route.source)) states = parts_[route.source].transport->states(connection);
  if (route.destination == route.source || !is_here(route.destination)) return states;
  const std::vector<QueuePairState> others = parts_[route.destination].transport->states(connection);
  states.resize(std::max(states.size(), others.size()));
  for (size_t i = 0; i < others.size(); ++i) states[i].add(others[i]);
  return states;
}

void TransportGroup::close() noexcept {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (connects_[i]) connects_[i]->wait();
    parts_[i].transport->close();
  }
}

TransportGroup::Routing route_by_ports(std::vector<std::vector<PortId>> ports) {
  return [by_part = std::move(ports)](const TransportPlan& plan) {
    const auto part_of = [&](NicId nic) {
      const PortId port = plan.nics[nic.value].port;
      const auto has = [port](const std::vector<PortId>& part) { return std::ranges::find(part, port) != part.end(); };
      return static_cast<uint32_t>(std::ranges::find_if(by_part, has) - by_part.begin());
    };
    std::vector<TransportGroup::Route> routes;
    routes.reserve(plan.connections.size());
    for (const Connection& c : plan.connections) {
      if (c.path == Path::kModelled)
        routes.push_back({});
      else
        routes.push_back({part_of(c.source_nic), part_of(c.destination_nic)});
    }
    return routes;
  };
}

}  // namespace rankwire
