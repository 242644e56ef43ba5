// A transport, or two, over fake RDMA devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dataplane/verbs/transport.h"
#include "tests/dataplane/verbs/fake.h"

namespace rankwire::testing {

inline VerbsPlace fake_place(uint32_t number) {
  VerbsPlace place;
  place.device.name = "fake" + std::to_string(number);
  place.device.limits = {.queue_pairs = 1 << 16,
                         .work_requests = 1 << 15,
                         .completion_queues = 1 << 16,
                         .completions = 1 << 16,
                         .regions = 1 << 10,
                         .region_bytes = uint64_t{1} << 40,
                         .shared_receive_queues = 16,
                         .shared_receives = 1 << 16,
                         .initiated_reads = 16,
                         .answered_reads = 16};
  place.gid = {
      .index = 3, .ip = Ipv4Address{0xC6120001 + number}, .mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(number)}}};
  place.port = {.number = 1,
                .state = "active",
                .link_layer = "Ethernet",
                .netdev = "fake_net" + std::to_string(number),
                .active_mtu = 4096,
                .max_message = uint64_t{1} << 30,
                .gids = {place.gid}};
  place.device.ports = {place.port};
  return place;
}

/// NIC i stands behind port i. Connection 2k leads from NIC 0 to NIC 1, connection 2k + 1 back; `sizes` are those of
/// the messages of an iteration of each.
inline TransportPlan verbs_plan(uint32_t pairs, const std::vector<uint32_t>& sizes) {
  TransportPlan plan;
  plan.messages_in_flight = 1024;
  for (uint32_t i = 0; i < 2; ++i)
    plan.nics.push_back({.id = NicId(i), .port = PortId(i), .ip = Ipv4Address{0xC6120001 + i}, .prefix_length = 15});
  for (uint32_t i = 0; i < 2 * pairs; ++i) {
    Connection connection;
    connection.id = ConnectionId(i);
    connection.source_nic = NicId(i % 2);
    connection.destination_nic = NicId(1 - i % 2);
    connection.messages_per_iteration = static_cast<uint32_t>(sizes.size());
    connection.largest_message = Bytes(*std::ranges::max_element(sizes));
    plan.connections.push_back(connection);
    plan.message_bytes.insert(plan.message_bytes.end(), sizes.begin(), sizes.end());
  }
  return plan;
}

/// Makes connection 1 the clear-to-send of connection 0, of `count` messages of `bytes` an iteration.
inline void add_clear_to_send(TransportPlan& plan, uint32_t count, uint32_t bytes) {
  Connection& control = plan.connections[1];
  const auto first = plan.message_bytes.begin() + plan.connections[0].messages_per_iteration;
  const auto next = plan.message_bytes.erase(first, first + control.messages_per_iteration);
  plan.message_bytes.insert(next, count, bytes);
  control.reverse_of = ConnectionId(0);
  control.control = true;
  control.messages_per_iteration = count;
  control.largest_message = Bytes(bytes);
}

class VerbsBench {
 public:
  /// One transport with both ports.
  VerbsBench(const VerbsOptions& options, const TransportPlan& plan) : VerbsBench(options, plan, {{0, 1}}) {}
  /// A transport for each list of ports.
  VerbsBench(const VerbsOptions& options, const TransportPlan& plan, const std::vector<std::vector<uint32_t>>& ports)
      : VerbsBench(std::vector<VerbsOptions>(ports.size(), options), plan, ports) {}
  VerbsBench(const std::vector<VerbsOptions>& options, const TransportPlan& plan,
             const std::vector<std::vector<uint32_t>>& ports)
      : plan_(plan) {
    fabric.recording = true;
    for (const std::vector<uint32_t>& own : ports) {
      std::vector<VerbsPort> made;
      for (const uint32_t port : own) made.push_back({PortId(port), "port" + std::to_string(port), fake_place(port)});
      transports_.push_back(std::make_unique<VerbsTransport>(options[transports_.size()], fabric, made));
      for (const EndPoint& end : transports_.back()->prepare(plan)) ends.push_back(end);
    }
  }

  std::vector<ConnectFailure> connect() {
    std::vector<ConnectFailure> failures;
    for (const auto& transport : transports_)
      for (const ConnectFailure& failure : transport->connect(ends)) failures.push_back(failure);
    return failures;
  }

  Message message(uint32_t connection, uint32_t index) const {
    uint32_t first = 0;
    for (uint32_t c = 0; c < connection; ++c) first += plan_.connections[c].messages_per_iteration;
    Message result;
    result.id.source = connection;
    result.id.sequence = index;
    result.connection = ConnectionId(connection);
    result.index = index;
    const uint32_t planned = plan_.connections[connection].messages_per_iteration;
    result.bytes = planned == 0 ? plan_.unplanned_bytes(ConnectionId(connection), index)
                                : Bytes(plan_.message_bytes[first + index % planned]);
    return result;
  }
  void post(uint32_t connection, uint32_t index) {
    const Message posted = message(connection, index);
    const uint32_t port = plan_.nics[plan_.connections[connection].source_nic.value].port.value;
    ASSERT_EQ(transports_[port < transports_.size() ? port : 0]->post(now, {&posted, 1}), 1u);
  }
  /// One poll of one transport.
  void poll(size_t transport = 0) {
    Event batch[64];
    const size_t n = transports_[transport]->poll(now, batch);
    events.insert(events.end(), batch, batch + n);
    now += microseconds(1);
  }
  /// Polls and executes until nothing changes any more.
  void run() {
    for (uint32_t idle = 0, turns = 0; idle < 2; ++turns) {
      ASSERT_LT(turns, 100'000u) << "it never ends";
      const uint64_t before = activity();
      for (size_t i = 0; i < transports_.size(); ++i) poll(i);
      fabric.run();
      idle = activity() == before ? idle + 1 : 0;
    }
  }

  std::vector<Event> events_of(EventKind kind, uint32_t connection) const {
    std::vector<Event> chosen;
    std::ranges::copy_if(events, std::back_inserter(chosen),
                         [&](const Event& e) { return e.kind == kind && e.connection.value == connection; });
    return chosen;
  }
  std::vector<uint32_t> indexes_of(EventKind kind, uint32_t connection) const {
    std::vector<uint32_t> indexes;
    for (const Event& event : events_of(kind, connection)) indexes.push_back(event.index);
    return indexes;
  }
  const EndPoint& end(uint32_t connection, uint32_t member, bool at_source) const {
    return *std::ranges::find_if(ends, [&](const EndPoint& e) {
      return e.connection.value == connection && e.member == member && e.at_source == at_source;
    });
  }
  FakeQueuePair& queue_pair(uint32_t connection, uint32_t member, bool at_source) {
    return fabric.queue_pair(end(connection, member, at_source).queue_pair);
  }
  VerbsTransport& transport(size_t i = 0) { return *transports_[i]; }
  uint64_t detail(std::string_view name, size_t i = 0) const {
    for (const NamedCounter& counter : transports_[i]->details())
      if (counter.name == name) return counter.value;
    return 0;
  }
  const TransportPlan& plan() const { return plan_; }

  FakeFabric fabric;
  std::vector<EndPoint> ends;
  std::vector<Event> events;
  Time now;

 private:
  uint64_t activity() const {
    uint64_t sum = 0;
    for (const auto& transport : transports_) sum += transport->activity();
    return sum;
  }

  TransportPlan plan_;
  std::vector<std::unique_ptr<VerbsTransport>> transports_;
};

}  // namespace rankwire::testing
