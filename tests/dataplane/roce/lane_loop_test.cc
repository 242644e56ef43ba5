#include "dataplane/roce/lane_loop.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

using LaneLoopTest = PartsTest;

TEST_F(LaneLoopTest, KnowsTheTimeOfTheLastTurnOrPost) {
  LaneLoop& loop = make().loop;
  EXPECT_EQ(loop.now(), Time::long_ago());
  loop.note_post(Time() + nanoseconds(3));
  EXPECT_EQ(loop.now(), Time() + nanoseconds(3));
  loop.turn(Time() + nanoseconds(4));
  EXPECT_EQ(loop.now(), Time() + nanoseconds(4));
  loop.skip_to(Time() + nanoseconds(9));
  EXPECT_EQ(loop.now(), Time() + nanoseconds(9));
}

// In the turn in which a lane receives a message it acknowledges it.
TEST_F(LaneLoopTest, ATurnReceivesAndThenTransmits) {
  LaneLoop& loop = make().loop;
  post(1000);
  loop.turn(Time());
  EXPECT_EQ(parts_->counters.totals.data_packets_tx, 1u);
  EXPECT_EQ(parts_->counters.totals.data_packets_rx, 0u);
  EXPECT_FALSE(loop.has_to_report());
  loop.turn(Time() + nanoseconds(100));
  EXPECT_EQ(parts_->counters.totals.data_packets_rx, 1u);
  EXPECT_EQ(parts_->counters.packets_tx(), 2u);
  EXPECT_TRUE(loop.has_to_report()) << "the destination";
  take_delivered();
  EXPECT_FALSE(loop.has_to_report());
  loop.turn(Time() + nanoseconds(200));
  EXPECT_TRUE(loop.has_to_report()) << "the source";
  EXPECT_EQ(take_sent().size(), 1u);
}

// A message in one packet from the port of lane 0 to that of lane 1, and its acknowledgement back.
TEST_F(LaneLoopTest, TalliesWhatPassesEachPortForWhoLooksOn) {
  std::array<PortTally, 2> tally;
  options_.tally = tally;
  LaneLoop& loop = make().loop;
  post(1000);
  for (int64_t turn = 0; turn < 3; ++turn) loop.turn(Time() + nanoseconds(100 * turn));
  const TransportCounters& totals = parts_->counters.totals;
  EXPECT_EQ(tally[0].tx_packets, 1u);
  EXPECT_EQ(tally[0].rx_packets, 1u);
  EXPECT_EQ(tally[1].tx_packets, 1u);
  EXPECT_EQ(tally[1].rx_packets, 1u);
  EXPECT_GT(tally[0].tx_bytes, 1000u) << "with its headers";
  EXPECT_LT(tally[1].tx_bytes, 100u) << "an acknowledgement";
  EXPECT_EQ(tally[0].tx_bytes, tally[1].rx_bytes);
  EXPECT_EQ(tally[1].tx_bytes, tally[0].rx_bytes);
  EXPECT_EQ(tally[0].tx_bytes + tally[1].tx_bytes, totals.bytes_tx);
}

// What is posted between the halves of a turn leaves in it, behind the acknowledgement of what was received.
TEST_F(LaneLoopTest, TheApplicationMayPostBetweenTheHalvesOfATurn) {
  LaneLoop& loop = make().loop;
  post(1000);
  loop.turn(Time());
  loop.receive(Time() + nanoseconds(100));
  EXPECT_EQ(parts_->counters.totals.data_packets_rx, 1u);
  EXPECT_EQ(parts_->counters.packets_tx(), 1u) << "no acknowledgement yet";
  take_delivered();
  post(1000);
  loop.transmit(Time() + nanoseconds(100));
  EXPECT_EQ(parts_->counters.totals.data_packets_tx, 2u);
  EXPECT_EQ(parts_->counters.packets_tx(), 3u);
}

// A time-out, of 4.096 us x 2^14, sends again in its own turn.
TEST_F(LaneLoopTest, ATurnActsOnDeadlinesBeforeItTransmits) {
  LaneLoop& loop = make().loop;
  post(1000);
  loop.turn(Time());
  EXPECT_EQ(take_packets(1).size(), 1u) << "it is lost";
  loop.turn(Time() + nanoseconds(4096) * (1 << 14));
  EXPECT_EQ(take_packets(1).size(), 1u);
  EXPECT_EQ(parts_->counters.totals.retransmitted, 1u);
}

TEST_F(LaneLoopTest, KnowsWhenThereIsSomethingToDo) {
  LaneLoop& loop = make().loop;
  loop.turn(Time());
  EXPECT_EQ(loop.next_event(), Time::never());
  post(1000);
  EXPECT_LE(loop.next_event(), Time());
  loop.turn(Time() + nanoseconds(100));
  EXPECT_EQ(loop.next_event_of(1), Time() + nanoseconds(100)) << "a frame has arrived";
  EXPECT_EQ(loop.next_event(), Time() + nanoseconds(100));
  EXPECT_EQ(take_packets(1).size(), 1u) << "it is lost";
  EXPECT_EQ(loop.next_event(), parts_->pairs.requesters[source()].deadline());
  fill_deliveries(0);
  EXPECT_EQ(loop.next_event(), loop.now()) << "the application can be told of something";
}

// Lane 1 hears of a frame from its bell, 5 us after lane 0 sent it, and looks at it only then.
TEST_F(LaneLoopTest, WithBellsALaneIsLookedAtWhenItHasSomethingToDo) {
  LaneLoop& loop = make_with_bells().loop;
  loop.turn(Time());
  EXPECT_EQ(loop.next_event(), Time::never());
  post(1000);
  loop.turn(Time());
  ASSERT_EQ(carry(0, microseconds(5)), 1u);
  EXPECT_EQ(loop.next_event(), Time() + microseconds(5));
  loop.turn(Time() + microseconds(4));
  EXPECT_EQ(parts_->counters.totals.data_packets_rx, 0u);
  EXPECT_EQ(loop.next_event(), Time() + microseconds(5));
  loop.turn(Time() + microseconds(5));
  EXPECT_EQ(parts_->counters.totals.data_packets_rx, 1u);
  EXPECT_TRUE(loop.has_to_report());
  take_delivered();
  ASSERT_EQ(carry(1, microseconds(5)), 1u) << "the acknowledgement";
  loop.turn(Time() + microseconds(10));
  EXPECT_EQ(take_sent().size(), 1u);
  EXPECT_EQ(loop.next_event(), Time::never());
}

}  // namespace
}  // namespace rankwire
