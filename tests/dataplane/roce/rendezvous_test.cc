#include "dataplane/roce/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class RendezvousTest : public PartsTest {
 protected:
  static constexpr uint32_t kBytes = 5000, kCookie = 3;

  RendezvousTest() { options_.verb = DataVerb::kRead; }

  template <class Message>
  static std::array<uint8_t, sizeof(Message)> bytes_of(const Message& message) {
    std::array<uint8_t, sizeof(Message)> bytes;
    std::memcpy(bytes.data(), &message, sizeof message);
    return bytes;
  }
  static std::array<uint8_t, sizeof(ReadyToSend)> ready(uint32_t index, uint32_t bytes = kBytes) {
    return bytes_of(ReadyToSend{Be32(index), Be32(kCookie), Be64(0x7000), Be32(0x55), Be32(bytes)});
  }
  static std::array<uint8_t, sizeof(GetFinished)> finished(uint32_t cookie) {
    return bytes_of(GetFinished{Be32(cookie)});
  }
  void hear(uint32_t queue_pair, std::span<const uint8_t> payload, Time now = Time()) {
    parts_->rendezvous.on_message(queue_pair, payload, now, now);
  }
};

TEST_F(RendezvousTest, WhatIsOfferedIsRead) {
  make();
  hear(destination(), ready(7), Time() + nanoseconds(20));
  const std::vector<OutboundMessage> requests = requests_of(destination());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].verb, Verb::kRead);
  EXPECT_EQ(requests[0].bytes, kBytes);
  EXPECT_EQ(requests[0].remote_address, 0x7000u);
  EXPECT_EQ(requests[0].rkey, 0x55u);
  EXPECT_EQ(requests[0].index, 7u);
  EXPECT_EQ(requests[0].posted, Time() + nanoseconds(20));
  EXPECT_EQ(parts_->lanes[1].senders.front(), destination());
}

TEST_F(RendezvousTest, WhatHasBeenReadIsDeliveredAndThePeerTold) {
  make();
  hear(destination(), ready(7));
  ReadReception reception{.outcome = ResponseOutcome::kAccepted,
                          .message = parts_->pairs.requesters[destination()].oldest_message()};
  ParsedPacket packet;
  packet.ecn = Ecn::kCongestionExperienced;
  parts_->rendezvous.on_fetched(destination(), packet, reception, Time() + nanoseconds(40), Time());
  EXPECT_TRUE(take_delivered().empty());
  packet.ecn = Ecn::kCapable0;
  reception.last = true;
  parts_->rendezvous.on_fetched(destination(), packet, reception, Time() + nanoseconds(60), Time());
  const std::vector<Event> events = take_delivered();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].index, 7u);
  EXPECT_EQ(events[0].bytes, Bytes(kBytes));
  EXPECT_EQ(events[0].received.first_rx, Time() + nanoseconds(40));
  EXPECT_EQ(events[0].received.delivered, Time() + nanoseconds(60));
  EXPECT_EQ(events[0].received.marks, 1u);
  const std::vector<OutboundMessage> requests = requests_of(destination());
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].verb, Verb::kSend);
  EXPECT_EQ(requests[1].bytes, sizeof(GetFinished));
}

TEST_F(RendezvousTest, AnOfferEndsWhenThePeerSaysThatItHasIt) {
  make();
  post(kBytes);
  const uint32_t offer = parts_->outbound.oldest_offer(source());
  hear(source(), finished(offer), Time() + nanoseconds(90));
  EXPECT_EQ(parts_->outbound.oldest_offer(source()), OutboundMessages::kNone);
  EXPECT_EQ(parts_->pairs.ends[source()].messages, 1u);
  EXPECT_EQ(parts_->pairs.ends[source()].bytes, kBytes);
  // The SEND that made the offer has not been acknowledged, and ends the message.
  EXPECT_TRUE(take_sent().empty());
  send_silently(source(), 1);
  Requester& requester = parts_->pairs.requesters[source()];
  requester.acknowledge(parts_->outbound.pool, Time() + nanoseconds(50),
                        {.psn = requester.oldest_unacknowledged(), .msn = 1});
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].sent.acked, Time() + nanoseconds(90)) << "the later of the two";
}

// Each consumes a receive, which is posted again at once.
TEST_F(RendezvousTest, WhatFitsNothingIsCountedAndHasNoEffect) {
  options_.receive_queue = 4;
  make();
  post(kBytes);
  const uint32_t offer = parts_->outbound.oldest_offer(source());
  hear(source(), finished(offer + 1));
  hear(source(), std::array<uint8_t, 5>{});
  hear(source(), ready(0));
  // More than kMaxReadPackets of 4096 bytes: 2^31 - 1 is what a READ may ask for, and one more is not.
  hear(destination(), ready(0, uint32_t{INT32_MAX} + 1));
  EXPECT_EQ(detail("unknown_offers"), 4u);
  EXPECT_EQ(parts_->outbound.oldest_offer(source()), offer);
  EXPECT_TRUE(requests_of(destination()).empty());
  EXPECT_EQ(parts_->pairs.responders[source()].receives(), 4u + 3);
  EXPECT_EQ(parts_->pairs.responders[destination()].receives(), 4u + 1);
}

TEST_F(RendezvousTest, AnOfferNeedsMemoryButTheWordThatItIsFetchedDoesNot) {
  make();
  EXPECT_TRUE(parts_->rendezvous.admits(ConnectionId(0), ready(0)));
  while (!parts_->outbound.gets.full()) parts_->outbound.gets.take();
  EXPECT_FALSE(parts_->rendezvous.admits(ConnectionId(0), ready(0)));
  EXPECT_TRUE(parts_->rendezvous.admits(ConnectionId(0), finished(0)));
}

TEST_F(RendezvousTest, AReadThatFailsIsTheEndOfItsMessage) {
  make();
  hear(destination(), ready(7));
  OutboundMessage request = requests_of(destination())[0];
  request.failure = Failure::kRetryExceeded;
  const std::optional<Event> event = parts_->rendezvous.fail(request);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, EventKind::kFailed);
  EXPECT_EQ(event->index, 7u);
  EXPECT_EQ(event->failure, Failure::kRetryExceeded);
  EXPECT_FALSE(parts_->outbound.gets.any_taken());
}

}  // namespace
}  // namespace rankwire
