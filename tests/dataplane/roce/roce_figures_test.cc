#include "dataplane/roce/roce_figures.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

using RoceFiguresTest = PartsTest;

TEST_F(RoceFiguresTest, CountersOfPortsAddUp) {
  make();
  parts_->lanes.port(0).pause_tx = 2;
  parts_->lanes.port(1).pause_tx = 3;
  parts_->lanes.port(1).pause_rx = 4;
  parts_->counters.count_data(5, 1000);
  parts_->counters.count_answer(static_cast<uint8_t>(Syndrome::kAck), 62);
  parts_->counters.totals.packets_rx = 7;
  parts_->counters.events = 8;
  const TransportCounters counters = parts_->figures.counters();
  EXPECT_EQ(counters.pause_tx, 5u);
  EXPECT_EQ(counters.pause_rx, 4u);
  EXPECT_EQ(counters.packets_tx, 6u) << "data and answers";
  EXPECT_EQ(counters.payload_copies, 0u);
  EXPECT_EQ(parts_->figures.activity(), 6u + 7 + 8);
}

TEST_F(RoceFiguresTest, CheckedPayloadsAreCopies) {
  options_.payload = PayloadMode::kChecking;
  make();
  parts_->counters.count_data(5, 1000);
  EXPECT_EQ(parts_->figures.counters().payload_copies, 5u);
}

// A lane that is 150 us late makes up for `catch_up`, 100 us.
TEST_F(RoceFiguresTest, TheWorstLaneCounts) {
  make();
  post(8 * 4096);
  parts_->transmitter.transmit(0, Time());
  const Time schedule = parts_->lanes[0].pacer().schedule();
  parts_->transmitter.transmit(0, schedule + microseconds(150));
  parts_->transmitter.transmit(1, schedule + microseconds(150));
  const TransportCounters counters = parts_->figures.counters();
  EXPECT_EQ(counters.stalls, 1u);
  EXPECT_EQ(counters.worst_stall, microseconds(150));
  EXPECT_EQ(counters.slipped, microseconds(50));
  std::array<PortCounters, 2> ports;
  parts_->figures.add_to(ports, Time());
  EXPECT_EQ(ports[0].slipped, microseconds(50)) << "its port is named";
  EXPECT_EQ(ports[1].slipped, Duration(0));
}

TEST_F(RoceFiguresTest, AFlowHasWhatItsEndsHaveCounted) {
  options_.queue_pairs = 2;
  make();
  QueuePairEnd& end = parts_->pairs.ends[source() + 1];
  end.messages = 3;
  end.bytes = 3000;
  end.packets = 3;
  post_silently(source() + 1, 1000);
  send_silently(source() + 1, 1);
  parts_->counters.count_timeout(source() + 1);
  parts_->counters.of[destination() + 1].marks = 9;
  parts_->pairs.arrived[destination() + 1] = 3;
  const std::vector<FlowCounters> flows = parts_->figures.flows_of({0, 1}, Time());
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[1].connection, ConnectionId(0));
  EXPECT_EQ(flows[1].member, 1);
  // Numbers begin with 0x10: two sources of each of the two connections, then their destinations.
  EXPECT_EQ(flows[1].source_qp, 0x11u);
  EXPECT_EQ(flows[1].destination_qp, 0x15u);
  EXPECT_EQ(flows[1].messages, 3u);
  EXPECT_EQ(flows[1].bytes, 3000u);
  EXPECT_EQ(flows[1].packets, 4u) << "one is under way";
  EXPECT_EQ(flows[1].unacknowledged, 1u);
  EXPECT_EQ(flows[1].arrived, 3u);
  EXPECT_EQ(flows[1].timeouts, 1u);
  EXPECT_EQ(flows[1].source_end.local_ack_timeout_err, 1u);
  EXPECT_EQ(flows[1].marks, 9u);
  EXPECT_FALSE(flows[1].causes);
  EXPECT_EQ(flows[0].packets, 0u);
  EXPECT_EQ(parts_->figures.flows_of({1, 99}, Time()).size(), 2u) << "as far as the plan has them";
  EXPECT_TRUE(parts_->figures.flows_of({2, 99}, Time()).empty());
}

// Lane 1 has the destination of connection 0 and the source of connection 1.
TEST_F(RoceFiguresTest, APortHasTheSumOfItsQueuePairs) {
  make();
  parts_->counters.count_duplicate(destination(0));
  parts_->counters.count_timeout(source(1));
  parts_->counters.count_timeout(source(0));
  parts_->lanes.port(1).icrc_errors = 6;
  parts_->lanes.port(1).pause_rx = 4;
  std::array<PortCounters, 2> ports;
  parts_->figures.add_to(ports, Time());
  EXPECT_EQ(ports[1].rdma.duplicate_request, 1u);
  EXPECT_EQ(ports[1].rdma.local_ack_timeout_err, 1u);
  EXPECT_EQ(ports[1].rx_icrc_encapsulated, 6u);
  EXPECT_EQ(ports[1].pause_rx, 4u);
  EXPECT_EQ(ports[0].rdma.local_ack_timeout_err, 1u);
  EXPECT_EQ(ports[0].rx_icrc_encapsulated, 0u);
}

// A look each 4 us: whatever arrives may have been there for as long. Buckets of the histogram are 1/32 wide.
TEST_F(RoceFiguresTest, HowLateAnArrivalIsNoticedIsTheIntervalOfLooks) {
  make();
  for (uint32_t i = 1; i < 10; ++i) parts_->standstills.look(Time() + microseconds(4) * i);
  std::array<PortCounters, 2> ports;
  ports[1].hardware_time = true;
  ports[1].arrival_error = nanoseconds(8);
  parts_->figures.add_to(ports, Time());
  EXPECT_NEAR(static_cast<double>(ports[0].arrival_error.ps), 4e6, 4e6 / 32);
  EXPECT_EQ(ports[1].arrival_error, nanoseconds(8)) << "the device's own";
}

TEST_F(RoceFiguresTest, DetailsOfAllPortsAddUp) {
  make();
  EXPECT_EQ(detail("receive_buffer_drops"), 0u);
  parts_->lanes.port(0).buffer_drops = 2;
  parts_->lanes.port(1).buffer_drops = 3;
  EXPECT_EQ(detail("receive_buffer_drops"), 5u);
}

TEST_F(RoceFiguresTest, EachPortHasTwoLatencies) {
  make();
  parts_->latencies.add_round_trip(1, nanoseconds(30));
  const std::vector<PortLatency> latencies = parts_->figures.latencies();
  ASSERT_EQ(latencies.size(), 4u);
  EXPECT_EQ(latencies[2].port, PortId(1));
  EXPECT_EQ(latencies[2].kind, LatencyKind::kRoundTrip);
  EXPECT_EQ(latencies[2].histogram->count(), 1u);
  EXPECT_EQ(latencies[0].histogram->count(), 0u);
  EXPECT_EQ(latencies[3].kind, LatencyKind::kOneWay);
}

}  // namespace
}  // namespace rankwire
