#include "dataplane/roce/send_order.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class SendOrderTest : public PartsTest {
 protected:
  /// The destination's responder accepts a message of one packet that asks for an acknowledgement.
  void receive_one() {
    ParsedPacket packet;
    packet.opcode = Opcode::kSendOnly;
    packet.psn = parts_->pairs.responders[destination()].expected_psn();
    packet.ack_request = true;
    const Reception reception =
        parts_->pairs.responders[destination()].receive(parts_->pairs.responder_options(), packet);
    ASSERT_EQ(reception.arrival, Arrival::kAccepted);
  }
};

TEST_F(SendOrderTest, AQueuePairHasOneTurnAtATime) {
  make();
  parts_->order.offer(source(), Time());
  parts_->order.offer(source(), Time());
  EXPECT_EQ(parts_->lanes[0].senders.size(), 1u);
  EXPECT_TRUE(parts_->lanes[1].senders.empty());
}

TEST_F(SendOrderTest, AnAcknowledgementIsOwedByTheLaneOfItsQueuePair) {
  make();
  parts_->order.owe_answer(destination(), Time());
  EXPECT_EQ(owed(1), 0u) << "nothing has arrived";
  receive_one();
  parts_->order.owe_answer(destination(), Time());
  EXPECT_EQ(owed(1), 1u);
}

TEST_F(SendOrderTest, NothingIsOwedToWhoIsNotReached) {
  make();
  receive_one();
  parts_->pairs.ends[destination()].link = LinkState::kResolving;
  parts_->order.owe_answer(destination(), Time());
  EXPECT_EQ(owed(1), 0u);
}

TEST_F(SendOrderTest, APacedQueuePairThatHasNothingToSendRests) {
  options_.congestion.algorithm = CongestionAlgorithm::kDcqcn;
  make();
  ASSERT_NE(parts_->paced, nullptr);
  post(1000);
  EXPECT_TRUE(parts_->paced->is_queued(source()));
  parts_->pairs.requesters[source()].fail(parts_->outbound.pool, Failure::kFlushed);
  parts_->order.place(source(), Time());
  EXPECT_FALSE(parts_->paced->is_queued(source()));
}

}  // namespace
}  // namespace rankwire
