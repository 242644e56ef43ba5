#include "dataplane/roce/request_receiver.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class RequestReceiverTest : public PartsTest {
 protected:
  void arrive(const ParsedPacket& packet, Time arrival = Time()) {
    parts_->requests.on_request(destination(), packet, arrival, arrival);
  }
  uint32_t expected() const { return parts_->pairs.responders[destination()].expected_psn(); }
};

TEST_F(RequestReceiverTest, WhatIsAcceptedIsDeliveredAndAnswered) {
  make();
  const uint32_t first = expected();
  arrive(next_write(destination(), 100, 7), Time() + nanoseconds(30));
  EXPECT_EQ(expected(), psn_add(first, 1));
  EXPECT_EQ(owed(1), 1u);
  const std::vector<Event> events = take_delivered();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].index, 7u);
  EXPECT_EQ(events[0].bytes, Bytes(100));
  EXPECT_EQ(events[0].received.delivered, Time() + nanoseconds(30));
}

TEST_F(RequestReceiverTest, WhatIsNotExpectedIsCounted) {
  make();
  ParsedPacket packet = next_write(destination(), 100);
  arrive(packet);
  arrive(packet);
  EXPECT_EQ(parts_->counters.of[destination()].duplicates, 1u);
  packet.psn = psn_add(packet.psn, 2);
  arrive(packet);
  EXPECT_EQ(parts_->counters.of[destination()].out_of_sequence, 1u);
  EXPECT_EQ(take_delivered().size(), 1u);
}

TEST_F(RequestReceiverTest, WithoutAReceiveThePeerIsToldToWait) {
  options_.receive_queue = 1;
  make();
  arrive(next_write(destination(), 100, 0));
  arrive(next_write(destination(), 100, 1));
  EXPECT_EQ(parts_->counters.of[destination()].not_ready, 1u);
  EXPECT_EQ(take_delivered().size(), 1u) << "that posts the receive again";
  arrive(next_write(destination(), 100, 1));
  EXPECT_EQ(take_delivered().size(), 1u);
}

TEST_F(RequestReceiverTest, ARefusedRequestIsAnsweredAndEndsItsQueuePair) {
  make();
  ParsedPacket packet = next_write(destination(), 100);
  const ParsedPacket good = packet;
  ++packet.rkey;
  arrive(packet);
  EXPECT_EQ(detail("refused"), 1u);
  EXPECT_EQ(owed(1), 1u) << "the NAK";
  EXPECT_TRUE(parts_->pairs.ends[destination()].failed);
  arrive(good);
  EXPECT_TRUE(take_delivered().empty());
}

// Two messages whose first parts have come are one more than there is memory for.
TEST_F(RequestReceiverTest, WhatIsNotAdmittedIsAsGoodAsLost) {
  options_.queue_pairs = 2;
  plan_.messages_in_flight = 1;
  make();
  arrive(next_write(destination(), 100, 0));
  const uint32_t before = expected();
  arrive(next_write(destination(), 100, 1));
  EXPECT_EQ(detail("not_admitted"), 1u);
  EXPECT_EQ(expected(), before);
}

class EarlyRequestsTest : public RequestReceiverTest {
 protected:
  EarlyRequestsTest() { options_.out_of_order = 8; }

  /// The three frames of a message, as lane 0 sends them 1 us apart; `arrivals` of them.
  void send_three() {
    post(3 * 4096);
    for (uint32_t i = 0; i < 3; ++i) parts_->transmitter.transmit(0, Time() + microseconds(i));
    ASSERT_EQ(ports_[1]->receive(Time() + microseconds(3), frames_), 3u);
  }
  EarlyPackets::Outcome keep(uint32_t frame) {
    return parts_->requests.keep_early(destination(), frames_[frame], parse(frames_[frame]));
  }

  std::array<Frame, 3> frames_;
};

TEST_F(EarlyRequestsTest, WhatComesTooEarlyIsPlacedInItsTurn) {
  make();
  send_three();
  EXPECT_EQ(keep(0), EarlyPackets::Outcome::kNoRoom) << "it is its turn";
  EXPECT_EQ(keep(2), EarlyPackets::Outcome::kKept);
  EXPECT_EQ(keep(1), EarlyPackets::Outcome::kKept);
  EXPECT_EQ(keep(1), EarlyPackets::Outcome::kDuplicate);
  EXPECT_EQ(detail("placed_out_of_order"), 2u);
  EXPECT_EQ(parts_->counters.of[destination()].duplicates, 1u);
  const Time filled = Time() + microseconds(9);
  arrive(parse(frames_[0]), filled);
  parts_->requests.place_early(destination(), filled, filled);
  const std::vector<Event> events = take_delivered();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].received.delivered, filled) << "it was complete when the gap was filled";
}

TEST_F(EarlyRequestsTest, WhatTheApplicationHasNoRoomForWaits) {
  make();
  send_three();
  ASSERT_EQ(keep(1), EarlyPackets::Outcome::kKept);
  ASSERT_EQ(keep(2), EarlyPackets::Outcome::kKept);
  arrive(parse(frames_[0]));
  fill_deliveries(ReceiveBatch::kFrames);
  parts_->requests.place_early(destination(), Time(), Time());
  EXPECT_TRUE(parts_->requests.any_waiting());
  parts_->requests.place_waiting(Time());
  EXPECT_TRUE(parts_->requests.any_waiting()) << "there is no more room";
  take_delivered();
  parts_->requests.place_waiting(Time());
  EXPECT_FALSE(parts_->requests.any_waiting());
  EXPECT_EQ(take_delivered().size(), 1u);
}

}  // namespace
}  // namespace rankwire
