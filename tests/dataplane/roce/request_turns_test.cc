#include "dataplane/roce/request_turns.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

/// Two queue pairs of lane 0, A and B, have messages. Packets of the pattern share bursts, checked payloads do not: the
/// order is the same.
class RequestTurnsTest : public PartsTest, public ::testing::WithParamInterface<PayloadMode> {
 protected:
  RequestTurnsTest() {
    options_.payload = GetParam();
    plan_ = testing::pair_plan(2);
  }

  /// Lane 0, whose line is free from `begin` on, sends what may start by `now`.
  void transmit(Time begin, Time now) {
    TransmitLane& lane = parts_->lanes[0];
    ASSERT_TRUE(lane.begin(begin));
    while (!lane.senders.empty() && parts_->turns.transmit(lane, now)) {
    }
    lane.finish(now);
  }
  /// Whose packets have arrived, in their order.
  std::string senders() {
    std::string senders;
    for (const ParsedPacket& packet : take_packets(1))
      senders += packet.destination_qp == QueuePairNumbers::kFirst + destination(0) ? 'A' : 'B';
    return senders;
  }
};
INSTANTIATE_TEST_SUITE_P(Both, RequestTurnsTest, ::testing::Values(PayloadMode::kPattern, PayloadMode::kChecking));

TEST_P(RequestTurnsTest, EachSendsAsManyPacketsAsATurnHas) {
  for (const auto& [turn, order] :
       {std::pair{1u, "ABABABABAB"}, {2u, "AABBAABBAB"}, {3u, "AAABBBAABB"}, {16u, "AAAAABBBBB"}}) {
    options_.turn = turn;
    make();
    for (const uint32_t connection : {0u, 1u}) post(5 * 4096, Time(), 0, connection);
    transmit(Time(), Time() + microseconds(10));
    EXPECT_EQ(senders(), order) << "turns of " << turn;
    EXPECT_TRUE(parts_->lanes[0].senders.empty());
  }
}

TEST_P(RequestTurnsTest, ATurnHasSeveralMessages) {
  options_.turn = 4;
  make();
  for (uint32_t index = 0; index < 3; ++index)
    for (const uint32_t connection : {0u, 1u}) post(3 * 4096, Time(), index, connection);
  transmit(Time(), Time() + microseconds(10));
  EXPECT_EQ(senders(), "AAAABBBBAAAABBBBAB");
}

// The slots of the first call are those that begin within 0.7 us: 335.52 ns, the first with RETH, then 334.24 ns each.
TEST_P(RequestTurnsTest, ATurnThatTheLineInterruptsGoesOn) {
  options_.turn = 2;
  make();
  for (const uint32_t connection : {0u, 1u}) post(4 * 4096, Time(), 0, connection);
  transmit(Time(), Time() + nanoseconds(700));
  EXPECT_EQ(senders(), "AAB");
  transmit(Time() + nanoseconds(700), Time() + microseconds(10));
  EXPECT_EQ(senders(), "BAABB");
}

TEST_P(RequestTurnsTest, WhoseWindowIsFullLosesTheTurn) {
  options_.turn = 16;
  options_.profile.window = 2;
  make();
  for (const uint32_t connection : {0u, 1u}) post(4 * 4096, Time(), 0, connection);
  transmit(Time(), Time() + microseconds(10));
  EXPECT_EQ(senders(), "AABB");
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
}

}  // namespace
}  // namespace rankwire
