#include "dataplane/roce/request_poster.h"

#include <gtest/gtest.h>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

using RequestPosterTest = PartsTest;

TEST_F(RequestPosterTest, AMessageIsOneRequestAndQueuesItsQueuePair) {
  make();
  post(5000, Time() + nanoseconds(7), 3);
  const std::vector<OutboundMessage> requests = requests_of(source());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].verb, Verb::kWriteImmediate);
  EXPECT_EQ(requests[0].bytes, 5000u);
  EXPECT_EQ(requests[0].immediate, 3u);
  EXPECT_EQ(requests[0].posted, Time() + nanoseconds(7));
  EXPECT_EQ(requests[0].remote_address, parts_->pairs.end_point(destination()).address);
  EXPECT_EQ(parts_->lanes[0].senders.front(), source());
}

TEST_F(RequestPosterTest, AnImmediateOfItsOwnFollowsAWrite) {
  options_.verb = DataVerb::kWriteThenImm;
  make();
  post(5000);
  const std::vector<OutboundMessage> requests = requests_of(source());
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].verb, Verb::kWrite);
  EXPECT_EQ(requests[0].bytes, 5000u);
  EXPECT_EQ(requests[1].verb, Verb::kWriteImmediate);
  EXPECT_EQ(requests[1].bytes, 0u);
}

TEST_F(RequestPosterTest, PartsAreMultiplesOf128Bytes) {
  options_.queue_pairs = 2;
  make();
  post(5000);  // half of it is 2500, the next multiple of 128 is 2560
  const std::vector<OutboundMessage> first = requests_of(source()), second = requests_of(source() + 1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].bytes, 2560u);
  EXPECT_EQ(second[0].bytes, 2440u);
  EXPECT_EQ(second[0].remote_address, parts_->pairs.end_point(destination() + 1).address + 2560);
}

TEST_F(RequestPosterTest, WhatIsReadIsOfferedBySend) {
  options_.verb = DataVerb::kRead;
  make();
  post(5000);
  const std::vector<OutboundMessage> requests = requests_of(source());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].verb, Verb::kSend);
  EXPECT_EQ(requests[0].bytes, sizeof(ReadyToSend));
  const uint32_t offer = parts_->outbound.oldest_offer(source());
  ASSERT_NE(offer, OutboundMessages::kNone);
  EXPECT_EQ(parts_->outbound.offers[offer].bytes, 5000u);
}

TEST_F(RequestPosterTest, TakesAsManyAsThereIsRoomFor) {
  plan_.messages_in_flight = 2;
  make();
  std::vector<Message> messages(3);
  for (Message& message : messages) message.connection = ConnectionId(0);
  EXPECT_EQ(parts_->poster.post(Time(), messages), 2u);
  EXPECT_EQ(parts_->counters.totals.post_refused, 1u);
}

}  // namespace
}  // namespace rankwire
