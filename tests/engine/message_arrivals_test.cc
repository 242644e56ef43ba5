#include "emulator/engine/message_arrivals.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

using Arrival = MessageArrivals::Arrival;

/// Connections 0 and 1 bring rank 1 two messages an iteration each, connection 2 brings rank 0 one.
Plan plan_of_three() {
  Plan plan;
  plan.nodes.resize(2);
  const auto connection = [&](uint32_t source, uint32_t destination, uint32_t messages) {
    plan.transport.connections.push_back({.id = ConnectionId(static_cast<uint32_t>(plan.transport.connections.size())),
                                          .source = RankId(source),
                                          .destination = RankId(destination),
                                          .messages_per_iteration = messages});
  };
  connection(0, 1, 2), connection(0, 1, 2), connection(1, 0, 1);
  index_plan(plan);
  return plan;
}

class MessageArrivalsTest : public ::testing::Test {
 protected:
  const Plan plan_ = plan_of_three();
  MessageArrivals arrivals_{plan_};
  const ConnectionId first_{0}, second_{1}, back_{2};
};

TEST_F(MessageArrivalsTest, AMessageThatIsExpectedIsAwaited) {
  EXPECT_TRUE(arrivals_.expect(first_, 1, 0));
  EXPECT_EQ(arrivals_.arrive(first_, 0, 0), Arrival::kEarly) << "another message";
  EXPECT_EQ(arrivals_.arrive(second_, 1, 0), Arrival::kEarly) << "another connection";
  EXPECT_EQ(arrivals_.arrive(first_, 1, 1), Arrival::kEarly) << "another iteration";
  EXPECT_EQ(arrivals_.arrive(first_, 1, 0), Arrival::kAwaited);
}

TEST_F(MessageArrivalsTest, NobodyWaitsForWhatHasArrived) {
  EXPECT_EQ(arrivals_.arrive(first_, 0, 0), Arrival::kEarly);
  EXPECT_FALSE(arrivals_.expect(first_, 0, 0));
}

TEST_F(MessageArrivalsTest, WhatArrivesTwiceIsADuplicate) {
  arrivals_.arrive(first_, 0, 0);
  EXPECT_EQ(arrivals_.arrive(first_, 0, 0), Arrival::kDuplicate);
  arrivals_.expect(first_, 1, 0);
  EXPECT_EQ(arrivals_.arrive(first_, 1, 0), Arrival::kAwaited);
  EXPECT_EQ(arrivals_.arrive(first_, 1, 0), Arrival::kDuplicate);
}

TEST_F(MessageArrivalsTest, WhoWaitsForAnAbandonedMessageIsReleasedOnce) {
  EXPECT_TRUE(arrivals_.expect(first_, 0, 0));
  EXPECT_TRUE(arrivals_.abandon(first_, 0, 0));
  EXPECT_EQ(arrivals_.arrive(first_, 0, 0), Arrival::kEarly) << "it comes nevertheless, and nobody waits any more";
  EXPECT_EQ(arrivals_.arrive(first_, 0, 0), Arrival::kDuplicate);
}

TEST_F(MessageArrivalsTest, NobodyWaitsForWhatWasAbandoned) {
  EXPECT_FALSE(arrivals_.abandon(first_, 0, 0)) << "nobody has waited";
  EXPECT_FALSE(arrivals_.expect(first_, 0, 0));
}

// Its source may not know that the message has arrived: the acknowledgement was lost.
TEST_F(MessageArrivalsTest, WhatHasArrivedIsNotAbandoned) {
  arrivals_.arrive(first_, 0, 0);
  EXPECT_FALSE(arrivals_.abandon(first_, 0, 0));
  EXPECT_EQ(arrivals_.arrive(first_, 0, 0), Arrival::kDuplicate);
}

TEST_F(MessageArrivalsTest, AnInboxServesTheIterationAfterTheNext) {
  for (const uint32_t iteration : {0u, 1u}) {
    for (const ConnectionId connection : {first_, second_}) {
      for (const uint32_t index : {0u, 1u}) arrivals_.arrive(connection, index, iteration);
    }
  }
  arrivals_.arrive(back_, 0, 0);
  arrivals_.end_iteration(RankId(1), 0);
  for (const ConnectionId connection : {first_, second_}) {
    for (const uint32_t index : {0u, 1u}) {
      EXPECT_TRUE(arrivals_.expect(connection, index, 2));
      EXPECT_EQ(arrivals_.arrive(connection, index, 1), Arrival::kDuplicate) << "iteration 1 goes on";
    }
  }
  EXPECT_EQ(arrivals_.arrive(back_, 0, 0), Arrival::kDuplicate) << "rank 0 has not ended iteration 0";
}

}  // namespace
}  // namespace rankwire
