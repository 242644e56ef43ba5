// Connections that use the queue pairs of others in the other direction, and control messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/transport_counters.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::pair_plan;
using testing::RocePair;

/// Connection 0 leads from a to b, 1 is its reverse.
TransportPlan reverse_plan(int64_t largest) {
  TransportPlan plan = pair_plan();
  plan.connections[1].reverse_of = ConnectionId(0);
  plan.connections[1].largest_message = Bytes(largest);
  return plan;
}

TransportPlan control_plan() {
  TransportPlan plan = reverse_plan(64);
  plan.connections[1].control = true;
  return plan;
}

RoceOptions checking_verb_options(DataVerb verb) {
  RoceOptions options;
  options.mtu = 1024;
  options.verb = verb;
  options.profile.timeout_exponent = 4;
  options.payload = PayloadMode::kChecking;
  return options;
}

TEST(RoceReverse, HasNoQueuePairsOfItsOwn) {
  RocePair pair(checking_verb_options(DataVerb::kWriteImm), {}, control_plan());
  ASSERT_EQ(pair.ends().size(), 2u);
  for (const EndPoint& end : pair.ends()) EXPECT_EQ(end.connection, ConnectionId(0));
  pair.connect();
  const auto flows = pair.a().flows();
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[1].source_qp, flows[0].destination_qp);
  EXPECT_EQ(flows[1].destination_qp, flows[0].source_qp);
}

// What the ends of queue pairs count is what their port counts, and what the whole transport does.
void expect_sums(const RoceTransport& transport) {
  RdmaCounters sum;
  for (const FlowCounters& flow : transport.flows()) sum += flow.source_end + flow.destination_end;
  EXPECT_EQ(sum, transport.ports()[0].rdma);
  const TransportCounters whole = transport.counters();
  EXPECT_EQ(sum.out_of_sequence, whole.out_of_sequence);
  EXPECT_LE(sum.duplicate_request, whole.duplicate_packets);  // which counts repeated responses to READs as well
  EXPECT_EQ(sum.packet_seq_err, whole.naks);
  EXPECT_EQ(sum.implied_nak_seq_err, whole.implied_naks);
  EXPECT_EQ(sum.local_ack_timeout_err, whole.timeouts);
  EXPECT_EQ(sum.rnr_nak_retry_err, whole.rnr_naks);
}

// While a run goes on and after it, also of messages that are under way.
TEST(RoceFlows, PacketsOfAConnectionAreThoseOfItsQueuePairs) {
  for (const DataVerb verb : {DataVerb::kWriteThenImm, DataVerb::kRead}) {
    RoceOptions options = checking_verb_options(verb);
    options.queue_pairs = 3;
    testing::Impairments lossy;
    lossy.loss_ppm = 10'000;
    RocePair pair(options, lossy, 2);
    pair.connect();
    for (uint32_t i = 0; i < 60; ++i)
      for (const uint32_t connection : {0, 1}) pair.post(RocePair::message(connection, i, 50'000));
    bool under_way = false;
    for (const Time until : {Time() + microseconds(50), Time::never()}) {
      pair.run_until(until);
      for (const uint32_t connection : {0, 1}) {
        uint64_t sent = 0, arrived = 0;
        for (const FlowCounters& flow : pair.a().flows_of({connection, connection + 1})) sent += flow.packets;
        for (const FlowCounters& flow : pair.b().flows_of({connection, connection + 1})) arrived += *flow.arrived;
        EXPECT_EQ(pair.a().packets_of(ConnectionId(connection))->sent, sent);
        EXPECT_EQ(pair.b().packets_of(ConnectionId(connection))->arrived, arrived);
        EXPECT_GT(arrived, 0u);
        under_way |= pair.events(EventKind::kReceived).size() < 120;
      }
    }
    EXPECT_TRUE(under_way) << "the first look came too late";
    EXPECT_EQ(pair.events(EventKind::kReceived).size(), 120u);
  }
}

// Clear-to-send as NCCL does it: 64 bytes against the data, whatever the data's verb, with and without losses.
TEST(RoceControl, MessagesGoAgainstTheDataOnItsQueuePairs) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const uint32_t loss : {0, 10'000}) {
      for (const Spread spread : {Spread::kSplit, Spread::kDeal}) {
        SCOPED_TRACE(::testing::Message() << "verb " << static_cast<int>(verb) << " loss " << loss);
        RoceOptions options = checking_verb_options(verb);
        options.queue_pairs = 3;
        options.spread = spread;
        testing::Impairments lossy;
        lossy.loss_ppm = loss;
        RocePair pair(options, lossy, control_plan());
        pair.connect();
        constexpr uint32_t kMessages = 60;
        for (uint32_t i = 0; i < kMessages; ++i) {
          pair.post(RocePair::message(1, i, 64));
          pair.post(RocePair::message(0, i, 5000));
        }
        pair.run_until();
        const auto received = pair.events(EventKind::kReceived);
        ASSERT_EQ(received.size(), 2 * kMessages);
        EXPECT_EQ(pair.events(EventKind::kSent).size(), 2 * kMessages);
        std::vector<uint32_t> times(2 * kMessages);
        for (const Event& event : received) {
          EXPECT_EQ(++times[event.connection.value * kMessages + event.index], 1u);
          const int64_t bytes = event.connection == ConnectionId(1) ? 64 : 5000;
          EXPECT_EQ(event.bytes, Bytes(bytes));
          const Message message = RocePair::message(event.connection.value, event.index, bytes);
          EXPECT_EQ(event.received.payload_key, payload_key(message.id));
        }
        EXPECT_EQ(pair.a().counters().payload_errors + pair.b().counters().payload_errors, 0u);
        for (const RoceTransport* transport : {&pair.a(), &pair.b()}) expect_sums(*transport);
      }
    }
  }
}

TEST(RoceControl, IndexStandsInTheFirstFourBytesOfAPlainWrite) {
  RoceOptions options = checking_verb_options(DataVerb::kWriteImm);
  options.payload = PayloadMode::kPattern;
  RocePair pair(options, {}, control_plan());
  pair.connect();
  pair.port_b().capture();
  pair.post(RocePair::message(1, 0x01020304, 64));
  pair.run_until();
  ASSERT_EQ(pair.port_b().sent().size(), 1u);
  auto bytes = pair.port_b().sent()[0];
  const ParsedPacket packet = parse(testing::frame_over(bytes));
  EXPECT_EQ(packet.opcode, Opcode::kWriteOnly);
  ASSERT_EQ(packet.payload_length, 64u);
  EXPECT_EQ(packet.payload[0], 4);
  EXPECT_EQ(packet.payload[3], 1);
  // Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, 64 of payload, ICRC 4, FCS 4.
  EXPECT_EQ(bytes.size() + 4, 142u);
  EXPECT_EQ(pair.b().counters().payload_copies, 0u);
}

TEST(RoceReverse, DataBothWaysOnTheSameQueuePairs) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm}) {
    RocePair pair(checking_verb_options(verb), {}, reverse_plan(1 << 20));
    pair.connect();
    for (uint32_t i = 0; i < 20; ++i)
      for (const uint32_t connection : {0, 1}) pair.post(RocePair::message(connection, i, 3000));
    pair.run_until();
    EXPECT_EQ(pair.events(EventKind::kReceived).size(), 40u);
    EXPECT_EQ(pair.events(EventKind::kSent).size(), 40u);
    EXPECT_EQ(pair.a().counters().payload_errors + pair.b().counters().payload_errors, 0u);
  }
}

// A queue pair that fails in one direction carries nothing in the other either.
TEST(RoceReverse, QueuePairFailsInBothDirections) {
  RocePair pair(checking_verb_options(DataVerb::kWriteImm), {}, reverse_plan(1 << 20));
  for (EndPoint& end : pair.ends())
    if (!end.at_source) ++end.rkey;
  pair.connect();
  pair.post(RocePair::message(0, 0, 100));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kFailed).size(), 1u);
  EXPECT_EQ(pair.events(EventKind::kFailed)[0].failure, Failure::kRemoteAccess);
  EXPECT_THAT(pair.b().describe(ConnectionId(0)), HasSubstr("it refused a request"));
  pair.post(RocePair::message(1, 0, 100));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kFailed).size(), 2u);
  EXPECT_EQ(pair.events(EventKind::kFailed)[1].failure, Failure::kFlushed);
}

TEST(RoceReverse, PlansThatCannotBeAreInputErrors) {
  const auto refused = [](auto change, const char* why) {
    TransportPlan plan = control_plan();
    change(plan);
    try {
      RocePair pair(checking_verb_options(DataVerb::kWriteImm), {}, plan);
      ADD_FAILURE() << "not refused: " << why;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  refused([](TransportPlan& p) { p.connections[1].reverse_of = ConnectionId(9); }, "the plan has 2");
  refused([](TransportPlan& p) { p.connections[1].reverse_of = ConnectionId(1); }, "cannot be the reverse");
  refused([](TransportPlan& p) { std::swap(p.connections[1].source_nic, p.connections[1].destination_nic); },
          "cannot be the reverse");
  refused([](TransportPlan& p) { p.connections[1].largest_message = Bytes(15); }, "16 to 256");
  refused([](TransportPlan& p) { p.connections[1].largest_message = Bytes(257); }, "16 to 256");
  refused(
      [](TransportPlan& p) {
        p.connections.push_back(p.connections[1]);
        p.connections[2].id = ConnectionId(2);
      },
      "two in the other direction");
}

}  // namespace
}  // namespace rankwire
