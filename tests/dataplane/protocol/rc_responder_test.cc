// SEND, receives, READ and answers at the responder, as event - expect.
#include <gtest/gtest.h>

#include <array>

#include "dataplane/protocol/responder.h"

namespace rankwire {
namespace {

using enum Opcode;

constexpr uint32_t kFirstPsn = 0xFFFFFE;  // the third packet wraps
constexpr MemoryRegion kRegion{.address = 0x10000, .bytes = 1 << 20, .rkey = 0x77};

class RcResponder : public ::testing::Test {
 protected:
  static constexpr uint32_t mtu = 1024;

  RcResponder() { begin({.reads = reads_}); }
  void begin(const ResponderResources& resources, const MemoryRegion& region = kRegion) {
    responder_ = Responder(kFirstPsn, region, resources);
  }
  std::span<ReadResource> reads() { return reads_; }

  static uint32_t psn(uint32_t n) { return psn_add(kFirstPsn, n); }

  // Events.
  Reception request(Opcode opcode, uint32_t psn, uint32_t bytes, uint32_t dma_length) {
    ParsedPacket packet;
    packet.opcode = opcode;
    packet.psn = psn;
    packet.payload_length = bytes;
    packet.pad = -bytes & 3;
    packet.dma_length = dma_length;
    packet.rkey = kRegion.rkey;
    packet.address = kRegion.address + region_offset_;
    packet.immediate = 0xC0FFEE;
    packet.ack_request = ack_request_;
    return responder_.receive(options_, packet);
  }
  Reception request(Opcode opcode, uint32_t psn, uint32_t bytes) { return request(opcode, psn, bytes, bytes); }
  Arrival read(uint32_t psn, uint32_t region_offset, uint32_t bytes) {
    region_offset_ = region_offset;
    const Arrival arrival = request(kReadRequest, psn, 0, bytes).arrival;
    region_offset_ = 0;
    return arrival;
  }
  Arrival send(uint32_t psn) { return request(kSendOnly, psn, 4).arrival; }

  // Expectations.
  void expect_delivered(const Reception& reception, Verb verb, uint32_t bytes) {
    EXPECT_EQ(reception.arrival, Arrival::kAccepted);
    EXPECT_TRUE(reception.last);
    EXPECT_EQ(reception.verb, verb);
    EXPECT_EQ(reception.message_bytes, bytes);
    EXPECT_EQ(reception.immediate, has_immediate(verb) ? 0xC0FFEEu : reception.immediate);
  }
  void expect_reply(uint8_t syndrome, uint32_t psn, uint32_t msn) {
    ASSERT_TRUE(responder_.reply_owed()) << psn;
    const Acknowledgement reply = responder_.take_reply();
    EXPECT_EQ(reply.syndrome, syndrome) << psn;
    EXPECT_EQ(reply.psn, psn);
    EXPECT_EQ(reply.msn, msn) << psn;
  }
  void expect_no_reply() { EXPECT_FALSE(responder_.reply_owed()); }
  void expect_response(Opcode opcode, uint32_t psn, uint32_t place, uint32_t bytes, uint32_t msn) {
    ASSERT_TRUE(responder_.response_pending()) << psn;
    const ResponseRun run = responder_.next_response(options_, 1);
    responder_.responded(run);
    EXPECT_EQ(run.opcode, opcode) << psn;
    EXPECT_EQ(run.psn, psn);
    EXPECT_EQ(run.region_offset + run.offset, place) << psn;
    EXPECT_EQ(run.length, bytes) << psn;
    if (opcode == kReadResponseMiddle) return;
    EXPECT_EQ(run.msn, msn) << psn;
    EXPECT_EQ(run.syndrome, 0x1F) << psn;
  }
  void expect_no_response() { EXPECT_FALSE(responder_.response_pending()); }

  ResponderOptions options_{.mtu = mtu, .not_ready_code = 12};
  Responder responder_;
  bool ack_request_ = true;

 private:
  std::array<ReadResource, 3> reads_;
  uint32_t region_offset_ = 0;
};

TEST_F(RcResponder, EveryVerbIsDelivered) {
  expect_delivered(request(kSendOnly, psn(0), 0), Verb::kSend, 0);
  expect_delivered(request(kSendOnlyImmediate, psn(1), 7), Verb::kSendImmediate, 7);
  expect_delivered(request(kWriteOnly, psn(2), 9), Verb::kWrite, 9);
  expect_delivered(request(kWriteOnlyImmediate, psn(3), mtu), Verb::kWriteImmediate, mtu);
  EXPECT_FALSE(request(kSendFirst, psn(4), mtu).last);
  EXPECT_EQ(request(kSendMiddle, psn(5), mtu).offset, mtu);
  const Reception last = request(kSendLast, psn(6), 5);
  EXPECT_EQ(last.offset, 2 * mtu);
  expect_delivered(last, Verb::kSend, 2 * mtu + 5);
  EXPECT_EQ(request(kWriteFirst, psn(7), mtu, 2 * mtu).message_bytes, 2 * mtu);
  expect_delivered(request(kWriteLast, psn(8), mtu), Verb::kWrite, 2 * mtu);
  expect_reply(0x1F, psn(8), 6);
}

TEST_F(RcResponder, WriteSaysWhereInTheRegionItBegins) {
  ParsedPacket packet;
  packet.opcode = kWriteFirst;
  packet.psn = psn(0);
  packet.payload_length = mtu;
  packet.dma_length = 2 * mtu;
  packet.rkey = kRegion.rkey;
  packet.address = kRegion.address + 4096;
  EXPECT_EQ(responder_.receive(options_, packet).region_offset, 4096u);
  packet.opcode = kWriteLastImmediate;
  packet.psn = psn(1);
  packet.address = 0;
  EXPECT_EQ(responder_.receive(options_, packet).region_offset, 4096u);
}

TEST_F(RcResponder, SendLengths) {
  struct Case {
    Opcode opcode;
    uint32_t bytes;
    bool good;
  };
  // IBTA 9.7.4.1.6: FIRST and MIDDLE the MTU, LAST 1 .. MTU, ONLY 0 .. MTU bytes.
  for (const Case& c : {Case{kSendOnly, mtu, true}, Case{kSendOnly, mtu + 4, false}, Case{kSendFirst, mtu - 4, false},
                        Case{kSendFirst, mtu + 4, false}}) {
    begin({});
    EXPECT_EQ(request(c.opcode, psn(0), c.bytes).arrival, c.good ? Arrival::kAccepted : Arrival::kRefused);
  }
  for (const Case& c : {Case{kSendMiddle, mtu, true}, Case{kSendMiddle, 4, false}, Case{kSendLast, 1, true},
                        Case{kSendLast, mtu, true}, Case{kSendLast, 0, false}, Case{kSendLast, mtu + 1, false}}) {
    begin({});
    request(kSendFirst, psn(0), mtu);
    EXPECT_EQ(request(c.opcode, psn(1), c.bytes).arrival, c.good ? Arrival::kAccepted : Arrival::kRefused) << c.bytes;
  }
  // A message longer than the receive that it found.
  options_.receive_bytes = 2 * mtu;
  begin({});
  request(kSendFirst, psn(0), mtu);
  EXPECT_EQ(request(kSendLast, psn(1), mtu).arrival, Arrival::kAccepted);
  request(kSendFirst, psn(2), mtu);
  request(kSendMiddle, psn(3), mtu);
  EXPECT_EQ(request(kSendLast, psn(4), 1).arrival, Arrival::kRefused);
  expect_reply(0x61, psn(4), 1);
}

TEST_F(RcResponder, MissingReceiveIsAnRnrNak) {
  begin({.receives = 1});
  EXPECT_EQ(send(psn(0)), Arrival::kAccepted);
  expect_reply(0x1F, psn(0), 1);
  EXPECT_EQ(send(psn(1)), Arrival::kNotReady);
  expect_reply(0x20 | 12, psn(1), 1);
  // What is behind it on the way is dropped without a word; the PSN stays expected.
  EXPECT_EQ(send(psn(2)), Arrival::kAhead);
  expect_no_reply();
  EXPECT_EQ(responder_.expected_psn(), psn(1));
  // The repetition comes too early.
  EXPECT_EQ(send(psn(1)), Arrival::kNotReady);
  expect_reply(0x20 | 12, psn(1), 1);
  responder_.post_receives(2);
  EXPECT_EQ(send(psn(1)), Arrival::kAccepted);
  EXPECT_EQ(send(psn(2)), Arrival::kAccepted);
  EXPECT_EQ(responder_.receives(), 0u);
  expect_reply(0x1F, psn(2), 3);
}

TEST_F(RcResponder, ReceivesAreTakenByWhatNeedsThem) {
  begin({.receives = 2});
  // A plain WRITE takes none, a SEND takes its with its first packet, a WRITE with immediate with its last.
  EXPECT_EQ(request(kWriteOnly, psn(0), 4).arrival, Arrival::kAccepted);
  EXPECT_EQ(responder_.receives(), 2u);
  request(kSendFirst, psn(1), mtu);
  EXPECT_EQ(responder_.receives(), 1u);
  request(kSendLast, psn(2), 4);
  request(kWriteFirst, psn(3), mtu, mtu + 4);
  EXPECT_EQ(responder_.receives(), 1u);
  EXPECT_EQ(request(kWriteLastImmediate, psn(4), 4).arrival, Arrival::kAccepted);
  EXPECT_EQ(responder_.receives(), 0u);
  request(kWriteFirst, psn(5), mtu, mtu + 4);
  EXPECT_EQ(request(kWriteLastImmediate, psn(6), 4).arrival, Arrival::kNotReady);
  expect_reply(0x20 | 12, psn(6), 3);
  responder_.post_receives(1);
  EXPECT_EQ(request(kWriteLastImmediate, psn(6), 4).arrival, Arrival::kAccepted);
}

TEST_F(RcResponder, CreditsAreTheReceivesLeft) {
  begin({.receives = 7, .grants_credits = true});
  send(psn(0));
  expect_reply(5, psn(0), 1);  // code 5: six
  send(psn(1));
  expect_reply(4, psn(1), 2);  // code 4: four of the five
  // A SEND in progress has taken one, and MSN does not count it: MSN + credits must reach behind it.
  request(kSendFirst, psn(2), mtu);
  expect_reply(4, psn(2), 2);  // five from MSN 2
  request(kSendLast, psn(3), 4);
  expect_reply(4, psn(3), 3);  // four from MSN 3
  begin({.receives = 7});
  send(psn(0));
  expect_reply(0x1F, psn(0), 1);
  begin({.grants_credits = true});
  send(psn(0));
  expect_reply(0x1F, psn(0), 1);
}

TEST_F(RcResponder, OneAckForSoManyRequestsAsTheProfileSays) {
  options_.requests_per_ack = 1;
  send(psn(0));
  EXPECT_TRUE(responder_.reply_due(options_));
  expect_reply(0x1F, psn(0), 1);
  options_.requests_per_ack = 3;
  send(psn(1));
  ack_request_ = false;
  send(psn(2));
  ack_request_ = true;
  send(psn(3));
  EXPECT_TRUE(responder_.reply_owed());
  EXPECT_FALSE(responder_.reply_due(options_));
  send(psn(4));
  EXPECT_TRUE(responder_.reply_due(options_));
  expect_reply(0x1F, psn(4), 5);
  send(psn(5));
  EXPECT_FALSE(responder_.reply_due(options_));
}

TEST_F(RcResponder, NakIsDueLikeAnAckOfItsOwn) {
  options_.requests_per_ack = 1;
  send(psn(3));
  EXPECT_TRUE(responder_.reply_due(options_));
  expect_reply(0x60, psn(0), 0);
}

TEST_F(RcResponder, ReadIsAnsweredInPackets) {
  EXPECT_EQ(read(psn(0), 256, 4 * mtu - 3), Arrival::kAccepted);
  EXPECT_EQ(responder_.expected_psn(), psn(4));
  EXPECT_EQ(responder_.msn(), 1u);
  expect_response(kReadResponseFirst, psn(0), 256, mtu, 1);
  const ResponseRun run = responder_.next_response(options_, 16);
  EXPECT_EQ(run.opcode, kReadResponseMiddle);
  EXPECT_EQ(run.count, 2u);
  expect_response(kReadResponseMiddle, psn(1), 256 + mtu, mtu, 1);
  expect_response(kReadResponseMiddle, psn(2), 256 + 2 * mtu, mtu, 1);
  expect_response(kReadResponseLast, psn(3), 256 + 3 * mtu, mtu - 3, 1);
  expect_no_response();
  expect_no_reply();
  EXPECT_EQ(read(psn(4), 0, 2 * mtu), Arrival::kAccepted);
  expect_response(kReadResponseFirst, psn(4), 0, mtu, 2);
  expect_response(kReadResponseLast, psn(5), mtu, mtu, 2);
  EXPECT_EQ(read(psn(6), 0, mtu), Arrival::kAccepted);
  expect_response(kReadResponseOnly, psn(6), 0, mtu, 3);
  EXPECT_EQ(read(psn(7), 0, 0), Arrival::kAccepted);
  expect_response(kReadResponseOnly, psn(7), 0, 0, 4);
}

TEST_F(RcResponder, AnswersKeepTheOrderOfTheRequests) {
  send(psn(0));
  read(psn(1), 0, 2 * mtu);  // its response acknowledges the SEND
  send(psn(3));
  read(psn(4), 0, 4);
  send(psn(5));
  expect_no_reply();
  expect_response(kReadResponseFirst, psn(1), 0, mtu, 2);
  expect_no_reply();
  expect_response(kReadResponseLast, psn(2), mtu, mtu, 2);
  expect_no_reply();
  expect_response(kReadResponseOnly, psn(4), 0, 4, 4);
  expect_reply(0x1F, psn(5), 5);
  send(psn(6));
  read(psn(7), 0, 4);
  expect_response(kReadResponseOnly, psn(7), 0, 4, 7);
  expect_no_reply();
}

TEST_F(RcResponder, NakWaitsForTheResponsesBeforeIt) {
  read(psn(0), 0, 4);
  EXPECT_EQ(send(psn(2)), Arrival::kGap);
  expect_no_reply();
  expect_response(kReadResponseOnly, psn(0), 0, 4, 1);
  expect_reply(0x60, psn(1), 1);
  // So does one that ends the queue pair.
  read(psn(1), 0, 4);
  EXPECT_EQ(request(kSendMiddle, psn(2), mtu).arrival, Arrival::kRefused);
  expect_response(kReadResponseOnly, psn(1), 0, 4, 2);
  expect_reply(0x61, psn(2), 2);
}

TEST_F(RcResponder, RepeatedReadIsAnsweredFromWhereItAsks) {
  read(psn(0), 512, 4 * mtu);
  while (responder_.response_pending()) responder_.responded(responder_.next_response(options_, 1));
  send(psn(4));
  expect_reply(0x1F, psn(4), 2);
  // The responses from the second on are lost.
  EXPECT_EQ(read(psn(1), 512 + mtu, 3 * mtu), Arrival::kDuplicate);
  expect_response(kReadResponseFirst, psn(1), 512 + mtu, mtu, 1);
  expect_response(kReadResponseMiddle, psn(2), 512 + 2 * mtu, mtu, 1);
  expect_response(kReadResponseLast, psn(3), 512 + 3 * mtu, mtu, 1);
  expect_no_response();
  expect_no_reply();
  // A part of it.
  EXPECT_EQ(read(psn(3), 512 + 3 * mtu, 8), Arrival::kDuplicate);
  expect_response(kReadResponseOnly, psn(3), 512 + 3 * mtu, 8, 1);
  EXPECT_EQ(responder_.msn(), 2u);
}

TEST_F(RcResponder, RepetitionWhileTheFirstAnswerIsOnItsWayBeginsAgain) {
  read(psn(0), 0, 3 * mtu);
  read(psn(3), 0, 4);
  expect_response(kReadResponseFirst, psn(0), 0, mtu, 1);
  read(psn(0), 0, 3 * mtu);
  expect_response(kReadResponseFirst, psn(0), 0, mtu, 1);
  expect_response(kReadResponseMiddle, psn(1), mtu, mtu, 1);
  expect_response(kReadResponseLast, psn(2), 2 * mtu, mtu, 1);
  expect_response(kReadResponseOnly, psn(3), 0, 4, 2);
  expect_no_response();
}

TEST_F(RcResponder, RepetitionThatMatchesNothingIsDropped) {
  read(psn(0), 512, 2 * mtu);
  while (responder_.response_pending()) responder_.responded(responder_.next_response(options_, 1));
  send(psn(2));
  expect_reply(0x1F, psn(2), 2);
  EXPECT_EQ(read(psn(1), 512, mtu), Arrival::kDuplicate);            // another place
  EXPECT_EQ(read(psn(1), 512 + mtu, 2 * mtu), Arrival::kDuplicate);  // more than was asked for
  EXPECT_EQ(read(psn(1), 512 + mtu, 0), Arrival::kDuplicate);        // nothing
  EXPECT_EQ(read(psn(2), 512 + 2 * mtu, mtu), Arrival::kDuplicate);  // the SEND's PSN
  EXPECT_EQ(read(psn(0) - 1, 512 - mtu, mtu), Arrival::kDuplicate);  // before the connection
  expect_no_response();
  expect_no_reply();
}

TEST_F(RcResponder, AsManyReadsAreRememberedAsThereIsRoomFor) {
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(read(psn(i), 8 * i, 8), Arrival::kAccepted);
    expect_response(kReadResponseOnly, psn(i), 8 * i, 8, i + 1);
  }
  read(psn(1), 8, 8);
  expect_no_response();  // the last three are 2, 3 and 4
  read(psn(2), 16, 8);
  expect_response(kReadResponseOnly, psn(2), 16, 8, 3);
  // Repetitions are answered in the order of their PSNs, whatever order they come in.
  read(psn(4), 32, 8);
  read(psn(3), 24, 8);
  expect_response(kReadResponseOnly, psn(3), 24, 8, 4);
  expect_response(kReadResponseOnly, psn(4), 32, 8, 5);
}

TEST_F(RcResponder, MoreReadsThanAgreedAreInvalid) {
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(read(psn(i), 0, 8), Arrival::kAccepted);
  EXPECT_EQ(read(psn(3), 0, 8), Arrival::kRefused);
  for (uint32_t i = 0; i < 3; ++i) expect_response(kReadResponseOnly, psn(i), 0, 8, i + 1);
  expect_reply(0x61, psn(3), 3);
}

TEST_F(RcResponder, NewReadReplacesOneThatIsOnlyAnsweredAgain) {
  for (uint32_t i = 0; i < 3; ++i) {
    read(psn(i), 0, 8);
    expect_response(kReadResponseOnly, psn(i), 0, 8, i + 1);
  }
  read(psn(0), 0, 8);  // the requester asked again, then got the first answer after all
  EXPECT_EQ(read(psn(3), 0, 8), Arrival::kAccepted);
  expect_response(kReadResponseOnly, psn(3), 0, 8, 4);
  expect_no_response();
}

TEST_F(RcResponder, ReadsAreCheckedLikeWrites) {
  MemoryRegion write_only = kRegion;
  write_only.remote_read = false;
  begin({.reads = reads()}, write_only);
  EXPECT_EQ(read(psn(0), 0, 8), Arrival::kRefused);
  expect_reply(0x61, psn(0), 0);
  begin({.reads = reads()});
  EXPECT_EQ(read(psn(0), (1 << 20) - 7, 8), Arrival::kRefused);
  expect_reply(0x62, psn(0), 0);
  begin({.reads = reads()});
  EXPECT_EQ(read(psn(0), 1 << 21, 0), Arrival::kAccepted);
}

TEST_F(RcResponder, FaultAnswersTheNextRequest) {
  send(psn(0));
  expect_reply(0x1F, psn(0), 1);
  responder_.fault();
  EXPECT_EQ(send(psn(0)), Arrival::kDuplicate);
  expect_reply(0x1F, psn(0), 1);
  EXPECT_EQ(send(psn(1)), Arrival::kRefused);
  expect_reply(0x63, psn(1), 1);
  EXPECT_EQ(responder_.state(), Responder::State::kError);
}

}  // namespace
}  // namespace rankwire
