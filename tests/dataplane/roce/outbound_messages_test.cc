#include "dataplane/roce/outbound_messages.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace rankwire {
namespace {

RoceOptions read_options(uint32_t queue_pairs) {
  RoceOptions options;
  options.verb = DataVerb::kRead;
  options.queue_pairs = queue_pairs;
  return options;
}

TEST(MessageRoom, IsEnoughForEveryPartOfEveryMessage) {
  RoceOptions options;
  const MessageRoom whole(options, 10);
  EXPECT_EQ(whole.requests, 10u);
  EXPECT_EQ(whole.transfers + whole.offers + whole.gets + whole.assembled, 0u);

  options.queue_pairs = 4;  // split: four requests a message, which the receiver puts together
  const MessageRoom split(options, 10);
  EXPECT_EQ(split.requests, 40u);
  EXPECT_EQ(split.transfers, 10u);
  EXPECT_EQ(split.assembled, 10u);

  options.queue_pairs = 1;
  options.verb = DataVerb::kWriteThenImm;  // a WRITE and the immediate behind it
  EXPECT_EQ(MessageRoom(options, 10).requests, 20u);

  const MessageRoom read(read_options(4), 10);  // 40 parts: announced here and fetched, and the same of the peer's
  EXPECT_EQ(read.requests, 160u);
  EXPECT_EQ(read.offers, 40u);
  EXPECT_EQ(read.gets, 80u);
}

TEST(MessageRoom, RequestsMustHaveNumbers) {
  // 2^29 - 1 is the last; four requests a message.
  EXPECT_NO_THROW(MessageRoom(read_options(1), (1u << 27) - 1));
  EXPECT_THROW(MessageRoom(read_options(1), 1u << 27), Error);
}

class OutboundMessagesTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kNone = OutboundMessages::kNone;

  uint32_t open_transfer(uint32_t outstanding) {
    const uint32_t transfer = messages_.transfers.take();
    messages_.transfers[transfer].outstanding = outstanding;
    return transfer;
  }
  uint32_t make_offer(uint32_t queue_pair, uint32_t transfer) {
    const uint32_t offer = messages_.offers.take();
    messages_.offers[offer].transfer = transfer;
    messages_.push_offer(queue_pair, offer);
    return offer;
  }

  OutboundMessages messages_{ReliableOptions(), MessageRoom(read_options(1), 4), 2};
};

TEST_F(OutboundMessagesTest, RoomIsForSoManyThatAreNotReported) {
  EXPECT_EQ(messages_.room(), 4u);
  messages_.take(3);
  EXPECT_EQ(messages_.room(), 1u);
  messages_.reported();
  EXPECT_EQ(messages_.room(), 2u);
}

TEST_F(OutboundMessagesTest, ATransferEndsWithTheLastOfItsParts) {
  const uint32_t first = open_transfer(2), second = open_transfer(1);
  messages_.end_part(first);
  EXPECT_FALSE(messages_.any_ended());
  messages_.end_part(second);
  messages_.end_part(first);
  EXPECT_EQ(messages_.take_ended(), second);
  EXPECT_EQ(messages_.take_ended(), first);
  EXPECT_FALSE(messages_.any_ended());
}

TEST_F(OutboundMessagesTest, ATransferSpansItsRequests) {
  const uint32_t transfer = open_transfer(3);
  OutboundMessage early, late, unsent;
  early.first_tx = Time() + nanoseconds(10);
  early.last_tx = Time() + nanoseconds(20);
  early.acked = Time() + nanoseconds(90);
  early.retransmissions = 2;
  late.first_tx = Time() + nanoseconds(15);
  late.last_tx = Time() + nanoseconds(40);
  late.acked = Time() + nanoseconds(80);
  late.failure = Failure::kFlushed;
  unsent.failure = Failure::kUnreachable;
  for (const OutboundMessage& request : {late, early, unsent}) messages_.add(transfer, request);
  const Transfer& whole = messages_.transfers[transfer];
  EXPECT_EQ(whole.first_tx, early.first_tx);
  EXPECT_EQ(whole.last_tx, late.last_tx);
  EXPECT_EQ(whole.acked, early.acked);
  EXPECT_EQ(whole.retransmissions, 2u);
  EXPECT_EQ(whole.failure, Failure::kUnreachable) << "what is flushed has another cause";
}

TEST_F(OutboundMessagesTest, OffersOfAQueuePairStandInOrder) {
  const uint32_t transfer = open_transfer(3);
  const uint32_t first = make_offer(1, transfer), second = make_offer(1, transfer);
  EXPECT_EQ(messages_.oldest_offer(0), kNone);
  EXPECT_EQ(messages_.oldest_offer(1), first);
  messages_.pop_offer(1);
  EXPECT_EQ(messages_.oldest_offer(1), second);
  messages_.pop_offer(1);
  EXPECT_EQ(messages_.oldest_offer(1), kNone);
  const uint32_t third = make_offer(1, transfer);
  EXPECT_EQ(messages_.oldest_offer(1), third) << "after the last there is a first again";
}

TEST_F(OutboundMessagesTest, AFailedQueuePairsOffersCloseAndTheTransferFails) {
  const uint32_t transfer = open_transfer(2);
  const uint32_t first = make_offer(0, transfer), second = make_offer(0, transfer);
  messages_.close_offers(0, Failure::kFlushed);
  EXPECT_EQ(messages_.oldest_offer(0), kNone);
  EXPECT_FALSE(messages_.any_ended()) << "the requests that announced them have not finished";
  messages_.close_offer(first, Failure::kNone);
  messages_.close_offer(second, Failure::kNone);
  ASSERT_TRUE(messages_.any_ended());
  EXPECT_EQ(messages_.transfers[messages_.take_ended()].failure, Failure::kFlushed);
  EXPECT_FALSE(messages_.offers.any_taken());
}

}  // namespace
}  // namespace rankwire
