#include "dataplane/roce/notification_sender.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class NotificationSenderTest : public PartsTest {
 protected:
  NotificationSenderTest() {
    options_.congestion.notifies = true;
    options_.congestion.notification.min_time_between_cnps = microseconds(4);
    options_.profile.notification_hop_limit = 17;
  }
  /// Sends what lane 1 owes on a line that is free from `now` on.
  void transmit(Time now) {
    TransmitLane& lane = parts_->lanes[1];
    ASSERT_TRUE(lane.begin(now));
    parts_->notices->transmit(1, now);
    lane.finish(now);
  }
  bool owes() const { return parts_->lanes[1].owes_notification; }
};

TEST_F(NotificationSenderTest, OneIsThereOnlyToAnswerMarks) {
  EXPECT_NE(make().notices, nullptr);
  options_.congestion.notifies = false;
  EXPECT_EQ(make().notices, nullptr);
}

// Ethernet 14, IPv4 20, UDP 8, BTH 12, 16 reserved, ICRC 4.
TEST_F(NotificationSenderTest, AMarkIsAnsweredByOneCnp) {
  make();
  parts_->notices->on_mark(destination(), Time());
  ASSERT_TRUE(owes());
  transmit(Time());
  EXPECT_FALSE(owes());
  const std::vector<ParsedPacket> packets = take_packets(0);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].opcode, Opcode::kCongestionNotification);
  EXPECT_EQ(packets[0].destination_qp, QueuePairNumbers::kFirst + source());
  const auto& ip = *reinterpret_cast<const Ipv4Header*>(packets[0].head + packets[0].ip_offset);
  EXPECT_EQ(ip.time_to_live, 17);
  EXPECT_EQ(parts_->counters.notified[destination()].sent, 1u);
  EXPECT_EQ(parts_->counters.totals.cnp_tx, 1u);
  EXPECT_EQ(parts_->counters.totals.bytes_tx, 74u);
}

TEST_F(NotificationSenderTest, MarksWithinTheIntervalAreCountedOnly) {
  make();
  parts_->notices->on_mark(destination(), Time());
  transmit(Time());
  parts_->notices->on_mark(destination(), Time() + microseconds(3));
  EXPECT_FALSE(owes());
  EXPECT_EQ(parts_->counters.notified[destination()].marked_packets, 2u);
  parts_->notices->on_mark(destination(), Time() + microseconds(4));
  EXPECT_TRUE(owes());
}

TEST_F(NotificationSenderTest, WhatIsPausedOrHasNoSlotStaysOwed) {
  plan_ = testing::pair_plan(2);
  make();
  for (const uint32_t connection : {0u, 1u}) parts_->notices->on_mark(destination(connection), Time());
  TransmitLane& lane = parts_->lanes[1];
  lane.hold(lane.priorities().notifications, Time::never());
  transmit(Time());
  EXPECT_TRUE(take_packets(0).empty());
  lane.hold(0, Time::never());
  transmit(Time());
  EXPECT_EQ(take_packets(0).size(), 1u) << "the second must wait for the line";
  EXPECT_TRUE(owes());
  transmit(Time() + microseconds(1));
  EXPECT_EQ(take_packets(0).size(), 1u);
  EXPECT_FALSE(owes());
}

TEST_F(NotificationSenderTest, WhoHasFailedAnswersNothing) {
  make();
  parts_->ending.fail(destination(), Time());
  parts_->notices->on_mark(destination(), Time());
  EXPECT_FALSE(owes());
  EXPECT_EQ(parts_->counters.notified[destination()].marked_packets, 0u);
}

}  // namespace
}  // namespace rankwire
