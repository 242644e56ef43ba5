#include "dataplane/roce/answer_receiver.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class AnswerReceiverTest : public PartsTest {
 protected:
  /// Two messages of a packet each are under way from `now` on.
  void send_two(Time now = Time()) {
    post(1000, now, 0);
    post(1000, now, 1);
    send_silently(source(), 2, now);
  }
  uint32_t oldest() const { return parts_->pairs.requesters[source()].oldest_unacknowledged(); }
  void answer(uint32_t psn, uint8_t syndrome, Time now = Time(), uint32_t msn = 0) {
    parts_->answers.on_acknowledgement(0, source(), {.psn = psn, .msn = msn, .syndrome = syndrome}, now);
  }

  static constexpr auto kAck = static_cast<uint8_t>(Syndrome::kAck);
  static constexpr auto kNakSequence = static_cast<uint8_t>(Syndrome::kNakSequence);
};

// Both asked for an answer; the first is timed, since a sample is taken at a time.
TEST_F(AnswerReceiverTest, AnAcknowledgementEndsMessagesAndIsTimed) {
  make();
  send_two(Time() + nanoseconds(100));
  answer(oldest(), kAck, Time() + nanoseconds(150));
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].index, 0u);
  const std::vector<PortLatency> latencies = parts_->figures.latencies();
  ASSERT_EQ(latencies[0].kind, LatencyKind::kRoundTrip);
  EXPECT_EQ(latencies[0].histogram->count(), 1u);
  EXPECT_EQ(latencies[0].histogram->max(), nanoseconds(50));
}

TEST_F(AnswerReceiverTest, ANakSendsAgain) {
  make();
  send_two();
  parts_->lanes[0].senders.pop();
  answer(oldest(), kNakSequence);
  EXPECT_EQ(parts_->counters.totals.naks, 1u);
  EXPECT_EQ(parts_->counters.of[source()].naks, 1u);
  EXPECT_EQ(parts_->lanes[0].senders.size(), 1u);
  EXPECT_TRUE(take_sent().empty());
}

TEST_F(AnswerReceiverTest, WhatSaysNothingNewIsCounted) {
  make();
  send_two();
  const uint32_t first = oldest();
  answer(psn_add(first, 2), kAck);
  EXPECT_EQ(detail("ghost_acks"), 1u) << "it was never sent";
  answer(psn_add(first, 1), kAck);
  answer(first, kAck);
  EXPECT_EQ(detail("stale_acks"), 1u) << "the one behind it was acknowledged before";
  EXPECT_EQ(take_sent().size(), 2u);
}

// Of three messages two are under way. The answer to the first grants no more receives (credit code 0), or two (2).
TEST_F(AnswerReceiverTest, AnAnswerThatLeavesNoCreditsIsCounted) {
  options_.profile.grants_credits = true;
  for (const auto& [code, counted] : {std::pair{uint8_t{0}, 1u}, {uint8_t{2}, 0u}}) {
    make();
    send_two();
    post(1000, Time(), 2);
    answer(oldest(), kSyndromeTypeAck | code, Time(), 1);
    EXPECT_EQ(detail("out_of_credits"), counted);
  }
}

TEST_F(AnswerReceiverTest, AResponseThatNobodyAskedForIsCounted) {
  make();
  ParsedPacket packet;
  packet.opcode = Opcode::kReadResponseOnly;
  packet.psn = oldest();
  parts_->answers.on_response(source(), packet, Time(), Time());
  EXPECT_EQ(detail("ghost_acks"), 1u);
}

TEST_F(AnswerReceiverTest, ANotificationIsHeededByWhoeverHasARate) {
  make();
  parts_->answers.on_notification(source(), Time());
  EXPECT_EQ(parts_->counters.of[source()].notifications_ignored, 1u);
  options_.congestion.algorithm = CongestionAlgorithm::kDcqcn;
  options_.congestion.dcqcn.rate_reduce_monitor_period = Duration();
  make();
  parts_->answers.on_notification(source(), Time());
  EXPECT_EQ(parts_->counters.of[source()].notifications_ignored, 0u);
  EXPECT_EQ(parts_->counters.notified[source()].handled, 1u);
  EXPECT_EQ(parts_->counters.totals.cnp_rx, 1u);
  // Without a monitor period a CNP cuts the line's rate at once.
  EXPECT_LT(parts_->paced->control().allowance(source(), Time()).rate, Bandwidth(100'000'000'000));
}

}  // namespace
}  // namespace rankwire
