#include "emulator/engine/transport_group.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What one kind of port is told and says. Outlives its transport.
struct Script {
  std::vector<EndPoint> ends;
  std::vector<FlowCounters> flows;
  std::vector<PortCounters> ports;
  std::vector<NamedCounter> details;
  std::vector<ConnectFailure> connect_failures, not_ready;
  TransportCounters counters;
  std::string name = "?", connect_error;
  size_t events_a_poll = 0, takes = SIZE_MAX;
  Time next = Time::never();
  bool ready = true;
  std::shared_future<void> connect_until;  ///< what `connect` waits for

  std::vector<EndPoint> connected;
  std::vector<Message> posted;
  size_t polls = 0, transmits = 0, closes = 0;
};

class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(Script& script) : script_(script) {}
  std::vector<EndPoint> prepare(const TransportPlan&) override { return script_.ends; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override {
    if (script_.connect_until.valid()) script_.connect_until.wait();
    script_.connected.assign(remote.begin(), remote.end());
    if (!script_.connect_error.empty()) fail_input("{}", script_.connect_error);
    return script_.connect_failures;
  }
  bool ready() const noexcept override { return script_.ready; }
  std::vector<ConnectFailure> not_ready() const override { return script_.not_ready; }
  size_t post(Time, std::span<const Message> messages) noexcept override {
    const size_t n = std::min(messages.size(), script_.takes);
    script_.posted.insert(script_.posted.end(), messages.begin(), messages.begin() + static_cast<ptrdiff_t>(n));
    return n;
  }
  size_t poll(Time, std::span<Event> events) noexcept override {
    ++script_.polls;
    const size_t n = std::min(events.size(), script_.events_a_poll);
    for (Event& event : events.first(n)) event.index = script_.name == "left" ? 1 : 2;
    return n;
  }
  void send_due(Time) noexcept override { ++script_.transmits; }
  Time next_event() const noexcept override { return script_.next; }
  uint64_t activity() const noexcept override { return script_.polls; }
  TransportCounters counters() const override { return script_.counters; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return script_.flows; }
  std::vector<PortCounters> ports() const override { return script_.ports; }
  std::vector<NamedCounter> details() const override { return script_.details; }
  std::string describe(ConnectionId connection) const override {
    return script_.name + " of " + std::to_string(connection.value);
  }
  void close() noexcept override { ++script_.closes; }

 private:
  Script& script_;
};

/// NIC 0 stands behind port 0, NIC 1 behind port 1, NIC 2 behind port 2. `left` has ports 0 and 2, `right` port 1.
/// Connections: 0 and 1 between NICs 0 and 1, there and back; 2 from NIC 0 to NIC 2.
class TransportGroupTest : public ::testing::Test {
 protected:
  TransportGroupTest() {
    left_.name = "left", right_.name = "right";
    for (uint32_t i = 0; i < 3; ++i) plan_.nics.push_back({.id = NicId(i), .port = PortId(i)});
    for (const auto& [from, to] : {std::pair(0u, 1u), std::pair(1u, 0u), std::pair(0u, 2u)}) {
      plan_.connections.push_back({.id = ConnectionId(static_cast<uint32_t>(plan_.connections.size())),
                                   .source_nic = NicId(from),
                                   .destination_nic = NicId(to)});
    }
  }

  std::unique_ptr<TransportGroup> make(ConnectTime right = ConnectTime::kShort) {
    std::vector<TransportGroup::Part> parts(2);
    parts[0] = {std::make_unique<ScriptedTransport>(left_), ConnectTime::kShort};
    parts[1] = {std::make_unique<ScriptedTransport>(right_), right};
    return std::make_unique<TransportGroup>(std::move(parts), route_by_ports({{PortId(0), PortId(2)}, {PortId(1)}}));
  }
  std::unique_ptr<TransportGroup> prepared(ConnectTime right = ConnectTime::kShort) {
    auto transport = make(right);
    transport->prepare(plan_);
    return transport;
  }
  static Message message(uint32_t connection, uint32_t index) {
    return {.bytes = Bytes(1), .connection = ConnectionId(connection), .index = index};
  }
  static EndPoint end(uint32_t connection, bool at_source) {
    return {.connection = ConnectionId(connection), .at_source = at_source};
  }

  TransportPlan plan_;
  Script left_, right_;
};

TEST_F(TransportGroupTest, EveryTransportGetsTheEndsOfAll) {
  left_.ends = {end(0, true), end(1, false), end(2, true), end(2, false)};
  right_.ends = {end(0, false), end(1, true)};
  const auto transport = make();
  const std::vector<EndPoint> ends = transport->prepare(plan_);
  EXPECT_EQ(ends.size(), 6u);
  EXPECT_THAT(transport->connect(ends), IsEmpty());
  EXPECT_EQ(left_.connected.size(), 6u);
  EXPECT_EQ(right_.connected.size(), 6u);
  EXPECT_TRUE(transport->ready());
}

// NICs 1 and 2 are another worker's, or another machine's; of two parts what is beyond them has number 2.
TEST_F(TransportGroupTest, PortsThatNoPartHasAreElsewhere) {
  plan_.connections.push_back({.id = ConnectionId(3), .source_nic = NicId(1), .destination_nic = NicId(2)});
  plan_.nics.push_back({.id = NicId(3), .port = PortId(3)});
  plan_.connections.push_back({.id = ConnectionId(4), .source_nic = NicId(2), .destination_nic = NicId(3)});
  std::vector<std::string> routes;
  for (const TransportGroup::Route& route : route_by_ports({{PortId(3)}, {PortId(0)}})(plan_))
    routes.push_back(std::to_string(route.source) + " " + std::to_string(route.destination));
  EXPECT_THAT(routes, ElementsAre("1 2", "2 1", "1 2", "2 2", "2 0"));
}

TEST_F(TransportGroupTest, AMessageGoesToTheTransportOfItsSource) {
  const auto transport = prepared();
  const std::array messages = {message(0, 0), message(2, 1), message(1, 2), message(0, 3)};
  EXPECT_EQ(transport->post(Time(), messages), 4u);
  ASSERT_EQ(left_.posted.size(), 3u);
  EXPECT_EQ(left_.posted[1].index, 1u);
  EXPECT_EQ(left_.posted[2].index, 3u);
  ASSERT_EQ(right_.posted.size(), 1u);
  EXPECT_EQ(right_.posted[0].index, 2u);
}

// What is taken is a prefix: nothing behind a message that was refused may be posted.
TEST_F(TransportGroupTest, PostingEndsWithTheFirstMessageThatIsRefused) {
  right_.takes = 1;
  const auto transport = prepared();
  const std::array messages = {message(0, 0), message(1, 1), message(1, 2), message(0, 3)};
  EXPECT_EQ(transport->post(Time(), messages), 2u);
  EXPECT_EQ(left_.posted.size(), 1u);
}

TEST_F(TransportGroupTest, ABusyTransportDoesNotSilenceTheOther) {
  left_.events_a_poll = right_.events_a_poll = 100;
  const auto transport = prepared();
  std::array<Event, 8> events;
  EXPECT_EQ(transport->poll(Time(), events), 8u);
  const uint32_t first = events[0].index;
  EXPECT_EQ(transport->poll(Time(), events), 8u);
  EXPECT_NE(events[0].index, first) << "the other comes first in the next turn";
  EXPECT_EQ(left_.polls, 2u) << "one without room for its events still moves its frames";
  EXPECT_EQ(right_.polls, 2u);
}

TEST_F(TransportGroupTest, EventsOfAllFollowEachOther) {
  left_.events_a_poll = 2, right_.events_a_poll = 3;
  const auto transport = prepared();
  std::array<Event, 8> events;
  EXPECT_EQ(transport->poll(Time(), events), 5u);
  EXPECT_EQ(transport->activity(), 2u);
}

TEST_F(TransportGroupTest, AllTakeTheHalvesOfATurn) {
  left_.events_a_poll = 2, right_.events_a_poll = 3;
  const auto transport = prepared();
  std::array<Event, 8> events;
  EXPECT_EQ(transport->receive(Time(), events), 5u);
  EXPECT_EQ(left_.transmits + right_.transmits, 0u);
  transport->send_due(Time());
  EXPECT_EQ(left_.transmits, 1u);
  EXPECT_EQ(right_.transmits, 1u);
}

TEST_F(TransportGroupTest, TheNextEventIsTheEarliest) {
  left_.next = Time(30), right_.next = Time(20);
  EXPECT_EQ(prepared()->next_event(), Time(20));
}

TEST_F(TransportGroupTest, CountersAddUpAndTheWorstPortIsTheWorst) {
  left_.counters.packets_tx = 3, right_.counters.packets_tx = 4;
  left_.counters.stalls = 1, right_.counters.stalls = 5;
  left_.counters.worst_stall = Duration(70), right_.counters.worst_stall = Duration(9);
  left_.counters.slipped = Duration(1), right_.counters.slipped = Duration(2);
  left_.counters.pacing_slipped = Duration(4), right_.counters.pacing_slipped = Duration(3);
  const TransportCounters counters = prepared()->counters();
  EXPECT_EQ(counters.packets_tx, 7u);
  EXPECT_EQ(counters.stalls, 6u);
  EXPECT_EQ(counters.worst_stall, Duration(70));
  EXPECT_EQ(counters.slipped, Duration(2));
  EXPECT_EQ(counters.pacing_slipped, Duration(4));
}

// Each transport lists every connection, with zeros for those of others.
TEST_F(TransportGroupTest, AFlowIsOneRowOfWhatBothEndsKnow) {
  const auto flow = [](uint32_t connection, uint64_t messages, uint64_t marks, uint32_t source, uint32_t destination) {
    return FlowCounters{.connection = ConnectionId(connection),
                        .source_qp = source,
                        .destination_qp = destination,
                        .messages = messages,
                        .packets = 10 * messages,
                        .marks = marks};
  };
  left_.flows = {flow(0, 5, 0, 16, 0), flow(1, 0, 3, 17, 34), flow(2, 7, 2, 18, 19)};
  right_.flows = {flow(0, 0, 4, 16, 33), flow(1, 6, 0, 17, 34), flow(2, 0, 0, 0, 0)};
  left_.flows[0].source_end.packet_seq_err = 8;
  right_.flows[0].destination_end.out_of_sequence = 9;
  left_.flows[0].answers = AnswerCounters{.acks_rx = 3};
  right_.flows[0].answers = AnswerCounters{.acks_tx = 4, .naks_tx = 2};
  const std::vector<FlowCounters> flows = prepared()->flows();
  ASSERT_EQ(flows.size(), 3u);
  EXPECT_EQ(flows[0].source_end, (RdmaCounters{.packet_seq_err = 8}));
  EXPECT_EQ(flows[0].destination_end, (RdmaCounters{.out_of_sequence = 9}));
  EXPECT_EQ(flows[0].answers, (AnswerCounters{.acks_tx = 4, .naks_tx = 2, .acks_rx = 3}));
  EXPECT_EQ(flows[1].answers, std::nullopt);
  EXPECT_EQ(flows[0].messages, 5u);
  EXPECT_EQ(flows[0].packets, 50u);
  EXPECT_EQ(flows[0].marks, 4u);
  EXPECT_EQ(flows[0].source_qp, 16u);
  EXPECT_EQ(flows[0].destination_qp, 33u);
  EXPECT_EQ(flows[1].messages, 6u);
  EXPECT_EQ(flows[1].marks, 3u);
  EXPECT_EQ(flows[2].messages, 7u);
  EXPECT_EQ(flows[2].marks, 2u);
}

// The parts of a machine: connection 1 comes from another one, 2 goes there, and of 3 both ends are there.
TEST_F(TransportGroupTest, OfAnEndThatIsElsewhereNothingIsKnown) {
  for (uint32_t c = 0; c < 3; ++c) {
    left_.flows.push_back({.connection = ConnectionId(c), .messages = 10 + c});
    right_.flows.push_back({.connection = ConnectionId(c), .marks = 20 + c});
  }
  std::vector<TransportGroup::Part> parts(2);
  parts[0].transport = std::make_unique<ScriptedTransport>(left_);
  parts[1].transport = std::make_unique<ScriptedTransport>(right_);
  TransportGroup transport(std::move(parts), [](const TransportPlan&) {
    return std::vector<TransportGroup::Route>{{0, 1}, {2, 1}, {0, 2}, {2, 2}};
  });
  transport.prepare(plan_);
  std::vector<std::string> flows;
  for (const FlowCounters& flow : transport.flows())
    flows.push_back(fmt::format("{}: {} {}", flow.connection.value, flow.messages, flow.marks));
  EXPECT_THAT(flows, ElementsAre("0: 10 20", "1: 0 21", "2: 12 0"));
  EXPECT_EQ(transport.describe(ConnectionId(1)), "right of 1");
  EXPECT_EQ(transport.describe(ConnectionId(2)), "left of 2");
  EXPECT_EQ(transport.describe(ConnectionId(3)), "");
  for (uint32_t c = 1; c < 4; ++c) EXPECT_THAT(transport.states(ConnectionId(c)), IsEmpty());
}

TEST_F(TransportGroupTest, PortsStandInTheirOrderAndDetailsOfOneNameAddUp) {
  left_.ports = {{.port = PortId(0)}, {.port = PortId(2)}};
  right_.ports = {{.port = PortId(1)}};
  left_.details = {{"refused", 2}, {"stale_acks", 1}};
  right_.details = {{"doorbells", 9}, {"refused", 3}};
  const auto transport = prepared();
  std::vector<uint32_t> order;
  for (const PortCounters& port : transport->ports()) order.push_back(port.port.value);
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  std::vector<std::string> details;
  for (const NamedCounter& c : transport->details()) details.push_back(std::string(c.name) + std::to_string(c.value));
  EXPECT_THAT(details, ElementsAre("refused5", "stale_acks1", "doorbells9"));
}

TEST_F(TransportGroupTest, DescribesBothEnds) {
  const auto transport = prepared();
  EXPECT_EQ(transport->describe(ConnectionId(0)), "left of 0; right of 0");
  EXPECT_EQ(transport->describe(ConnectionId(1)), "right of 1; left of 1");
  EXPECT_EQ(transport->describe(ConnectionId(2)), "left of 2");
}

TEST_F(TransportGroupTest, AConnectionThatFailsAtBothEndsIsNamedOnce) {
  left_.not_ready = {{ConnectionId(0), "no answer"}, {ConnectionId(2), "away"}};
  right_.not_ready = {{ConnectionId(0), "refused"}};
  const auto failures = prepared()->not_ready();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].connection, ConnectionId(0));
  EXPECT_EQ(failures[0].reason, "no answer; refused");
  EXPECT_EQ(failures[1].reason, "away");
}

// A transport whose `connect` lasts gives its list twice: as what `connect` returned, and as what is not ready.
TEST_F(TransportGroupTest, AReasonThatALongConnectGivesTwiceIsNamedOnce) {
  left_.not_ready = {{ConnectionId(0), "no answer"}};
  right_.connect_failures = {{ConnectionId(0), "refused"}, {ConnectionId(1), "refused"}};
  right_.not_ready = {{ConnectionId(0), "refused"}, {ConnectionId(1), "refused"}};
  const auto transport = prepared(ConnectTime::kLong);
  transport->connect({});
  const auto failures = transport->not_ready();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].connection, ConnectionId(0));
  EXPECT_EQ(failures[0].reason, "no answer; refused");
  EXPECT_EQ(failures[1].connection, ConnectionId(1));
  EXPECT_EQ(failures[1].reason, "refused");
}

// The kernel asks for the address of a NIC that the other transport emulates, and only `poll` can answer.
TEST_F(TransportGroupTest, OthersAreAtWorkWhileALongConnectLasts) {
  std::promise<void> answered;
  right_.connect_until = answered.get_future().share();
  right_.connect_failures = {{ConnectionId(1), "refused"}};
  const auto transport = prepared(ConnectTime::kLong);
  EXPECT_THAT(transport->connect(std::array{end(0, true)}), IsEmpty());
  EXPECT_EQ(left_.connected.size(), 1u);
  std::array<Event, 8> events;
  transport->poll(Time(), events);
  transport->send_due(Time());
  EXPECT_EQ(right_.transmits, 0u);
  EXPECT_FALSE(transport->ready());
  EXPECT_EQ(left_.polls, 1u);
  EXPECT_EQ(right_.polls, 0u) << "nobody touches a transport that is connecting";
  answered.set_value();
  const auto failures = transport->not_ready();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].reason, "refused");
  EXPECT_TRUE(transport->ready());
  transport->poll(Time(), events);
  EXPECT_EQ(right_.polls, 1u);
}

TEST_F(TransportGroupTest, WhatALongConnectThrowsIsThrownToItsCaller) {
  right_.connect_error = "mlx5_1: no more queue pairs";
  const auto transport = prepared(ConnectTime::kLong);
  transport->connect({});
  try {
    transport->not_ready();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("mlx5_1: no more queue pairs"));
  }
}

TEST_F(TransportGroupTest, ClosingWaitsForALongConnect) {
  std::promise<void> answered;
  right_.connect_until = answered.get_future().share();
  auto transport = prepared(ConnectTime::kLong);
  transport->connect(std::array{end(0, true)});
  answered.set_value();
  transport->close();
  EXPECT_EQ(right_.connected.size(), 1u);
  EXPECT_EQ(left_.closes, 1u);
  EXPECT_EQ(right_.closes, 1u);
}

}  // namespace
}  // namespace rankwire
