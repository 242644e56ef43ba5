#include "dataplane/roce/request_sender.h"

#include <gtest/gtest.h>

#include <array>

#include "dataplane/protocol/rendezvous.h"
#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using testing::PartsTest;

class RequestSenderTest : public PartsTest {
 protected:
  /// Lane 0, whose line is free from `begin` on, sends what may start by `now`, up to packet `turn` of its turn.
  /// Whether there were frames for all.
  bool transmit(uint32_t turn, Time begin, Time now) {
    TransmitLane& lane = parts_->lanes[0];
    lane.senders.push(source());
    EXPECT_TRUE(lane.begin(begin));
    const bool all = parts_->request_sender.transmit_up_to(lane, source(), turn, now);
    lane.finish(now);
    return all;
  }
  std::vector<Opcode> sent() {
    std::vector<Opcode> opcodes;
    for (const ParsedPacket& packet : take_packets(1)) opcodes.push_back(packet.opcode);
    return opcodes;
  }
};

// With the pattern as payload packets are made from templates; checked payloads are written word by word.
class RequestSenderPayloadTest : public RequestSenderTest, public ::testing::WithParamInterface<PayloadMode> {
 protected:
  RequestSenderPayloadTest() { options_.payload = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Both, RequestSenderPayloadTest,
                         ::testing::Values(PayloadMode::kPattern, PayloadMode::kChecking));

TEST_P(RequestSenderPayloadTest, SendsUpToTheEndOfTheTurn) {
  make();
  post_silently(source(), 4 * 4096);
  const uint32_t first = parts_->pairs.requesters[source()].next_psn();
  EXPECT_TRUE(transmit(3, Time(), Time() + microseconds(5)));
  EXPECT_EQ(parts_->lanes[0].run, 3u);
  EXPECT_EQ(sent(), (std::vector<Opcode>{Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteMiddle}));
  EXPECT_EQ(parts_->expiry.earliest(Time::never()), Time::never()) << "no answer was asked for";
  const Time last = Time() + microseconds(10);
  EXPECT_TRUE(transmit(16, last, last));
  EXPECT_EQ(parts_->lanes[0].run, 4u) << "there are no more";
  const std::vector<ParsedPacket> packets = take_packets(1);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].opcode, Opcode::kWriteLastImmediate);
  EXPECT_EQ(packets[0].psn, psn_add(first, 3));
  EXPECT_TRUE(packets[0].ack_request);
  EXPECT_EQ(parts_->expiry.earliest(Time::never()), parts_->pairs.requesters[source()].deadline());
  EXPECT_NE(parts_->pairs.requesters[source()].deadline(), Time::never());
  EXPECT_EQ(parts_->counters.totals.data_packets_tx, 4u);
  // 58 bytes beside the payload, RETH 16 in the first and ImmDt 4 in the last.
  EXPECT_EQ(parts_->counters.totals.bytes_tx, 4u * (4096 + 58) + 16 + 4);
}

TEST_P(RequestSenderPayloadTest, StopsWhenTheLineIsBusy) {
  make();
  post_silently(source(), 4 * 4096);
  EXPECT_FALSE(transmit(16, Time(), Time())) << "by now one frame may start";
  EXPECT_EQ(parts_->lanes[0].run, 1u);
  EXPECT_EQ(sent(), std::vector<Opcode>{Opcode::kWriteFirst});
}

TEST_P(RequestSenderPayloadTest, WhatIsSentAgainCounts) {
  make();
  post_silently(source(), 2 * 4096);
  EXPECT_TRUE(transmit(16, Time(), Time() + microseconds(5)));
  parts_->pairs.requesters[source()].expire(parts_->outbound.pool);
  const Time again = Time() + milliseconds(100);
  EXPECT_TRUE(transmit(16, again, again + microseconds(5)));
  EXPECT_EQ(parts_->counters.totals.data_packets_tx, 4u);
  EXPECT_EQ(parts_->counters.totals.retransmitted, 2u);
  EXPECT_EQ(parts_->counters.of[source()].retransmitted, 2u);
}

TEST_F(RequestSenderTest, AnOfferSaysWhereToRead) {
  options_.verb = DataVerb::kRead;
  make();
  post(5000, Time(), 7);
  EXPECT_TRUE(transmit(16, Time(), Time()));
  std::array<Frame, 1> frames;
  ASSERT_EQ(ports_[1]->receive(Time(), frames), 1u);
  const ParsedPacket packet = parse(frames[0]);
  EXPECT_EQ(packet.opcode, Opcode::kSendOnly);
  const auto ready = control_message<ReadyToSend>({packet.payload, packet.payload_length});
  ASSERT_TRUE(ready);
  const EndPoint own = parts_->pairs.end_point(source());
  const uint32_t offer = parts_->outbound.oldest_offer(source());
  EXPECT_EQ(ready->index.value(), 7u);
  EXPECT_EQ(ready->cookie.value(), offer);
  EXPECT_EQ(ready->address.value(), own.address + offer * kOfferStride);
  EXPECT_EQ(ready->rkey.value(), own.rkey);
  EXPECT_EQ(ready->length.value(), 5000u);
  EXPECT_TRUE(icrc_matches(frames[0], packet));
}

}  // namespace
}  // namespace rankwire
