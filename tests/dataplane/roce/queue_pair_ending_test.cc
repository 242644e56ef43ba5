#include "dataplane/roce/queue_pair_ending.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

using QueuePairEndingTest = PartsTest;

TEST_F(QueuePairEndingTest, WhatWasToBeSentIsFlushed) {
  make();
  post(1000);
  parts_->ending.fail(source(), Time());
  EXPECT_TRUE(parts_->pairs.ends[source()].failed);
  EXPECT_EQ(parts_->pairs.requesters[source()].state(), Requester::State::kError);
  EXPECT_FALSE(parts_->pairs.ends[destination()].failed) << "the peer hears of it on the wire";
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::kFailed);
  EXPECT_EQ(events[0].failure, Failure::kFlushed);
  parts_->ending.fail(source(), Time());
  EXPECT_TRUE(take_sent().empty()) << "it had failed already";
}

TEST_F(QueuePairEndingTest, OffersEndWithTheReason) {
  options_.verb = DataVerb::kRead;
  make();
  post(1000);
  parts_->pairs.ends[source()].link = LinkState::kUnreachable;
  parts_->ending.fail(source(), Time());
  EXPECT_EQ(parts_->outbound.oldest_offer(source()), OutboundMessages::kNone);
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].failure, Failure::kUnreachable);
}

TEST_F(QueuePairEndingTest, OtherPartsOfAMessageEndWithOne) {
  options_.queue_pairs = 2;
  make();
  parts_->ending.fail_connection(source() + 1, Time());
  for (uint32_t member = 0; member < 2; ++member) {
    EXPECT_TRUE(parts_->pairs.ends[source() + member].failed);
    EXPECT_TRUE(parts_->pairs.ends[destination() + member].failed);
  }
  EXPECT_FALSE(parts_->pairs.ends[parts_->pairs.connections[1].source].failed) << "of another connection";
}

TEST_F(QueuePairEndingTest, WholeMessagesEndWithTheirQueuePairAlone) {
  options_.queue_pairs = 2;
  options_.spread = Spread::kDeal;
  make();
  parts_->ending.fail_connection(source() + 1, Time());
  EXPECT_TRUE(parts_->pairs.ends[source() + 1].failed);
  EXPECT_TRUE(parts_->pairs.ends[destination() + 1].failed);
  EXPECT_FALSE(parts_->pairs.ends[source()].failed);
  EXPECT_FALSE(parts_->pairs.ends[destination()].failed);
}

}  // namespace
}  // namespace rankwire
