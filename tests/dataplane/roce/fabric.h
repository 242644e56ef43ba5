// RoCEv2 transports around a virtual fabric, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/transport.h"
#include "dataplane/switch/virtual_fabric.h"

namespace rankwire::testing {

/// A transport with the hosts that it stands behind.
struct RoceSide {
  RoceOptions options;
  std::vector<uint32_t> hosts;
};

/// A connection between two hosts.
struct RoceFlow {
  uint32_t from = 0, to = 0;
};

/// What a test says of the network and its traffic.
struct RoceFabricShape {
  Topology topology;
  std::vector<FabricSwitchOptions> devices;  ///< one a switch, or one for all
  FabricOptions fabric;
  std::vector<RoceSide> sides;  ///< every host stands behind one
  std::vector<RoceFlow> flows;
  int64_t message = 64 * 4096;  ///< bytes
  uint32_t posted = 4;          ///< messages of a flow at a time
};

/// Flows with so many messages that they never run out, unless told otherwise.
class RoceFabric {
 public:
  static constexpr uint32_t kEndless = std::numeric_limits<uint32_t>::max();

  explicit RoceFabric(const RoceFabricShape& shape)
      : shape_(shape),
        bells_(static_cast<uint32_t>(shape.topology.hosts.size())),
        delivered_(shape.flows.size()),
        posted_(shape.flows.size()),
        left_(shape.flows.size()),
        received_(shape.flows.size()),
        failed_(shape.flows.size()),
        side_of_(shape.topology.hosts.size()) {
    make_fabric();
    make_sides();
  }
  ~RoceFabric() {
    for (const auto& side : sides_) side->close();
  }
  RoceFabric(const RoceFabric&) = delete;
  RoceFabric& operator=(const RoceFabric&) = delete;

  void start(uint32_t flow, uint32_t messages = kEndless) {
    left_[flow] = messages;
    for (uint32_t i = 0; i < shape_.posted; ++i) post(flow);
  }
  /// Stops at `end`, or before when nothing is going to happen any more.
  void run_until(Time end) {
    while (now_ < end) {
      fabric_->step(now_);
      most_held_ = std::max(most_held_, fabric_->held());
      for (const auto& side : sides_) poll(*side);
      Time next = fabric_->next_event();
      for (const auto& side : sides_) next = std::min(next, side->next_event());
      now_ = std::min(std::max(now_, next), end);
    }
  }

  VirtualFabric& fabric() { return *fabric_; }
  RoceTransport& side(size_t number) { return *sides_[number]; }
  /// The host's own end of its line, for frames that no transport sends.
  FramePort& port(uint32_t host) { return *nics_[host]; }
  Time now() const { return now_; }

  /// Bytes delivered of each flow since the last call.
  std::vector<int64_t> take_delivered() { return std::exchange(delivered_, std::vector<int64_t>(delivered_.size())); }
  uint32_t messages_received(uint32_t flow) const { return received_[flow]; }
  uint32_t messages_failed(uint32_t flow) const { return failed_[flow]; }
  /// The most frames that were in the fabric or on its lines since the last call.
  size_t take_most_held() { return std::exchange(most_held_, 0); }

  /// Over all ports of the fabric.
  uint64_t drops(FabricDrop reason) const {
    uint64_t sum = 0;
    for (const FabricPortCounters& port : fabric_->counters()) sum += port.dropped(reason);
    return sum;
  }
  uint64_t drops() const {
    uint64_t sum = 0;
    for (const FabricPortCounters& port : fabric_->counters())
      sum += port.dropped() - port.dropped(FabricDrop::kFiltered);
    return sum;
  }
  uint64_t pauses() const {
    uint64_t sum = 0;
    for (const FabricPortCounters& port : fabric_->counters()) sum += port.pauses_tx;
    return sum;
  }
  FabricPortCounters host_port(uint32_t host) const { return fabric_->counters()[fabric_->topology().host_port(host)]; }

 private:
  static MacAddress mac(uint32_t host) { return {{2, 0, 0, 0, 0, static_cast<uint8_t>(host + 1)}}; }

  void make_fabric() {
    std::vector<FabricStation> stations;
    std::vector<FramePort*> ends;
    for (uint32_t h = 0; h < shape_.topology.hosts.size(); ++h) {
      auto [nic, inner] = make_memory_link(pool_, 8192, "port" + std::to_string(h), {&bells_, h});
      nics_.push_back(std::move(nic));
      inner_.push_back(std::move(inner));
      ends.push_back(inner_.back().get());
      stations.push_back({mac(h), h});
    }
    FabricOptions options = shape_.fabric;
    options.stations = stations;
    options.bells = &bells_;
    fabric_ = std::make_unique<VirtualFabric>(shape_.topology, ends, shape_.devices, options);
  }

  TransportPlan plan() const {
    TransportPlan plan;
    plan.messages_in_flight = 2 * shape_.posted * static_cast<uint32_t>(shape_.flows.size());
    for (uint32_t h = 0; h < shape_.topology.hosts.size(); ++h) {
      plan.nics.push_back(
          {.id = NicId(h), .port = PortId(h), .mac = mac(h), .ip = Ipv4Address{0xC6120001 + h}, .prefix_length = 15});
    }
    for (uint32_t i = 0; i < shape_.flows.size(); ++i) {
      Connection& connection = plan.connections.emplace_back();
      connection.id = ConnectionId(i);
      connection.source_nic = NicId(shape_.flows[i].from);
      connection.destination_nic = NicId(shape_.flows[i].to);
      connection.largest_message = Bytes(shape_.message);
    }
    return plan;
  }

  void make_sides() {
    plan_ = plan();
    std::vector<EndPoint> ends;
    for (const RoceSide& side : shape_.sides) {
      std::vector<PortBinding> bindings;
      for (const uint32_t host : side.hosts) {
        side_of_[host] = static_cast<uint32_t>(sides_.size());
        bindings.push_back({PortId(host), nics_[host].get(), shape_.topology.hosts[host].line.rate});
      }
      sides_.push_back(std::make_unique<RoceTransport>(side.options, bindings));
      std::ranges::copy(sides_.back()->prepare(plan_), std::back_inserter(ends));
    }
    for (const auto& side : sides_) EXPECT_TRUE(side->connect(ends).empty());
  }

  void post(uint32_t flow) {
    if (left_[flow] == 0) return;
    if (left_[flow] != kEndless) --left_[flow];
    Message message;
    message.id.source = flow;
    message.bytes = Bytes(shape_.message);
    message.connection = ConnectionId(flow);
    message.index = posted_[flow]++;
    ASSERT_EQ(sides_[side_of_[shape_.flows[flow].from]]->post(now_, {&message, 1}), 1u);
  }

  void poll(RoceTransport& transport) {
    Event events[64];
    const size_t n = transport.poll(now_, events);
    for (const Event& event : std::span(events).first(n)) {
      const uint32_t flow = event.connection.value;
      if (event.kind == EventKind::kFailed) {
        ++failed_[flow];
      } else if (event.kind == EventKind::kReceived) {
        ++received_[flow];
        delivered_[flow] += event.bytes.count;
      } else {
        post(flow);
      }
    }
  }

  RoceFabricShape shape_;
  Doorbells bells_;
  FramePool pool_{65536};
  TransportPlan plan_;
  std::vector<std::unique_ptr<FramePort>> nics_, inner_;
  std::unique_ptr<VirtualFabric> fabric_;
  std::vector<std::unique_ptr<RoceTransport>> sides_;
  std::vector<int64_t> delivered_;                           // by flow
  std::vector<uint32_t> posted_, left_, received_, failed_;  // the same
  std::vector<uint32_t> side_of_;                            // by host
  size_t most_held_ = 0;
  Time now_;
};

/// n senders 0 .. n-1 (side 0) and one receiver n (side 1) on one switch.
inline RoceFabricShape incast_shape(uint32_t senders, const Line& line, const FabricSwitchOptions& device,
                                    const RoceOptions& options) {
  RoceFabricShape shape{.topology = star(std::vector<Line>(senders + 1, line)), .devices = {device}};
  shape.sides = {{.options = options}, {.options = options, .hosts = {senders}}};
  for (uint32_t i = 0; i < senders; ++i) {
    shape.sides.front().hosts.push_back(i);
    shape.flows.push_back({i, senders});
  }
  return shape;
}

inline uint64_t detail(const RoceTransport& transport, std::string_view name) {
  for (const NamedCounter& counter : transport.details())
    if (counter.name == name) return counter.value;
  return 0;
}

/// Jain, Chiu and Hawe 1984: (sum x)^2 / (n sum x^2).
inline double jain(const std::vector<int64_t>& shares) {
  double sum = 0, squares = 0;
  for (const auto share : shares) {
    sum += static_cast<double>(share);
    squares += static_cast<double>(share) * static_cast<double>(share);
  }
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace rankwire::testing
