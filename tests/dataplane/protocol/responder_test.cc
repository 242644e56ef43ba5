#include "dataplane/protocol/responder.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

constexpr uint32_t kResponderMtu = 1024;
constexpr ResponderOptions kResponderOptions{.mtu = kResponderMtu};
constexpr uint32_t kFirstExpectedPsn = 0xFFFFFE;  // the third packet wraps
constexpr MemoryRegion kResponderRegion{.address = 0x10000, .bytes = 8192, .rkey = 0x77};

class ResponderTest : public ::testing::Test {
 protected:
  static ParsedPacket packet(Opcode opcode, uint32_t psn, uint32_t length) {
    ParsedPacket result;
    result.opcode = opcode;
    result.psn = psn;
    result.payload_length = length;
    result.pad = -length & 3;
    result.rkey = kResponderRegion.rkey;
    result.address = kResponderRegion.address;
    result.dma_length = length;
    return result;
  }
  static ParsedPacket first(uint32_t psn, uint32_t message) {
    ParsedPacket result = packet(Opcode::kWriteFirst, psn, kResponderMtu);
    result.dma_length = message;
    return result;
  }
  static ParsedPacket only(uint32_t psn, uint32_t length = 4) {
    ParsedPacket result = packet(Opcode::kWriteOnlyImmediate, psn, length);
    result.ack_request = true;
    return result;
  }
  Reception receive(const ParsedPacket& p) { return responder_.receive(kResponderOptions, p); }

  void expect_nothing_owed() { EXPECT_FALSE(responder_.reply_owed()); }
  void expect_reply(Syndrome syndrome, uint32_t psn, uint32_t msn) {
    ASSERT_TRUE(responder_.reply_owed());
    const Acknowledgement reply = responder_.take_reply();
    EXPECT_EQ(reply.syndrome, static_cast<uint8_t>(syndrome));
    EXPECT_EQ(reply.psn, psn);
    EXPECT_EQ(reply.msn, msn);
    expect_nothing_owed();
  }
  /// The packet is answered by a NAK with its own PSN, and the queue pair is finished.
  void expect_refused(const ParsedPacket& p, Syndrome syndrome) {
    const uint32_t expected = responder_.expected_psn(), msn = responder_.msn();
    EXPECT_EQ(receive(p).arrival, Arrival::kRefused);
    expect_reply(syndrome, expected, msn);
    EXPECT_EQ(responder_.state(), Responder::State::kError);
    EXPECT_EQ(receive(only(expected)).arrival, Arrival::kDropped);
    expect_nothing_owed();
    responder_ = Responder(kFirstExpectedPsn, kResponderRegion);
  }

  Responder responder_{kFirstExpectedPsn, kResponderRegion};
};

TEST_F(ResponderTest, MessageInOrder) {
  const Reception a = receive(first(0xFFFFFE, 2 * kResponderMtu + 5));
  EXPECT_EQ(a.arrival, Arrival::kAccepted);
  EXPECT_TRUE(a.first);
  EXPECT_FALSE(a.last);
  EXPECT_EQ(a.offset, 0u);
  const Reception b = receive(packet(Opcode::kWriteMiddle, 0xFFFFFF, kResponderMtu));
  EXPECT_EQ(b.offset, kResponderMtu);
  EXPECT_FALSE(b.first || b.last);
  EXPECT_EQ(responder_.msn(), 0u);
  expect_nothing_owed();  // nobody asked
  ParsedPacket end = packet(Opcode::kWriteLastImmediate, 0, 5);
  end.ack_request = true;
  const Reception c = receive(end);
  EXPECT_TRUE(c.last);
  EXPECT_EQ(c.offset, 2 * kResponderMtu);
  EXPECT_EQ(c.message_bytes, 2 * kResponderMtu + 5);
  expect_reply(Syndrome::kAck, 0, 1);
}

TEST_F(ResponderTest, EmptyMessageNeedsNoValidKey) {
  ParsedPacket empty = only(kFirstExpectedPsn, 0);
  empty.rkey = 0;
  empty.address = 0;
  const Reception reception = receive(empty);
  EXPECT_EQ(reception.arrival, Arrival::kAccepted);
  EXPECT_TRUE(reception.first && reception.last);
  EXPECT_EQ(reception.message_bytes, 0u);
  expect_reply(Syndrome::kAck, kFirstExpectedPsn, 1);
}

TEST_F(ResponderTest, OneAckAnswersSeveralRequests) {
  receive(only(0xFFFFFE));
  receive(only(0xFFFFFF));
  receive(only(0));
  expect_reply(Syndrome::kAck, 0, 3);
}

TEST_F(ResponderTest, OneNakAGap) {
  receive(only(0xFFFFFE));
  expect_reply(Syndrome::kAck, 0xFFFFFE, 1);
  // 0xFFFFFF is lost.
  EXPECT_EQ(receive(only(0)).arrival, Arrival::kGap);
  expect_reply(Syndrome::kNakSequence, 0xFFFFFF, 1);
  EXPECT_EQ(receive(only(1)).arrival, Arrival::kAhead);
  EXPECT_EQ(receive(only(2)).arrival, Arrival::kAhead);
  expect_nothing_owed();
  // The repetition in order arms the NAK again.
  EXPECT_EQ(receive(only(0xFFFFFF)).arrival, Arrival::kAccepted);
  expect_reply(Syndrome::kAck, 0xFFFFFF, 2);
  EXPECT_EQ(receive(only(1)).arrival, Arrival::kGap);
  expect_reply(Syndrome::kNakSequence, 0, 2);
}

TEST_F(ResponderTest, DuplicateIsAcknowledgedAgainWithTheNewestPsn) {
  receive(only(0xFFFFFE));
  receive(only(0xFFFFFF));
  expect_reply(Syndrome::kAck, 0xFFFFFF, 2);
  // The ACK was lost; the sender repeats.
  ParsedPacket repeated = only(0xFFFFFE);
  repeated.ack_request = false;
  EXPECT_EQ(receive(repeated).arrival, Arrival::kDuplicate);
  expect_reply(Syndrome::kAck, 0xFFFFFF, 2);
  EXPECT_EQ(responder_.expected_psn(), 0u);
}

TEST_F(ResponderTest, DuplicateIsNotChecked) {
  receive(only(kFirstExpectedPsn));
  ParsedPacket odd = packet(Opcode::kWriteMiddle, kFirstExpectedPsn, 3);
  EXPECT_EQ(receive(odd).arrival, Arrival::kDuplicate);
  EXPECT_EQ(responder_.state(), Responder::State::kReady);
}

TEST_F(ResponderTest, DuplicateDoesNotHideAnOwedNak) {
  receive(only(0xFFFFFE));
  responder_.take_reply();
  receive(only(0));
  receive(only(0xFFFFFE));
  expect_reply(Syndrome::kNakSequence, 0xFFFFFF, 1);
}

TEST_F(ResponderTest, NakNotYetSentBecomesAnAckWhenTheGapCloses) {
  receive(only(0xFFFFFF));  // ahead by one
  ParsedPacket missing = only(0xFFFFFE);
  missing.ack_request = false;
  receive(missing);
  expect_reply(Syndrome::kAck, 0xFFFFFE, 1);
}

TEST_F(ResponderTest, OpcodeOutOfSequence) {
  expect_refused(packet(Opcode::kWriteMiddle, kFirstExpectedPsn, kResponderMtu), Syndrome::kNakInvalidRequest);
  expect_refused(packet(Opcode::kWriteLastImmediate, kFirstExpectedPsn, 4), Syndrome::kNakInvalidRequest);
  receive(first(0xFFFFFE, 2 * kResponderMtu));
  expect_refused(first(0xFFFFFF, 2 * kResponderMtu), Syndrome::kNakInvalidRequest);
  receive(first(0xFFFFFE, 2 * kResponderMtu));
  expect_refused(only(0xFFFFFF), Syndrome::kNakInvalidRequest);
}

TEST_F(ResponderTest, WhatTheRegionDoesNotAllowIsInvalid) {
  responder_ = Responder(kFirstExpectedPsn, {.address = kResponderRegion.address,
                                             .bytes = kResponderRegion.bytes,
                                             .rkey = kResponderRegion.rkey,
                                             .remote_write = false});
  expect_refused(only(kFirstExpectedPsn), Syndrome::kNakInvalidRequest);
  // Allowed, but there is no room to remember a READ.
  expect_refused(packet(Opcode::kReadRequest, kFirstExpectedPsn, 0), Syndrome::kNakInvalidRequest);
}

TEST_F(ResponderTest, LengthAndPad) {
  constexpr Syndrome kInvalid = Syndrome::kNakInvalidRequest;
  // FIRST and MIDDLE carry exactly the path MTU without pad, and something must follow.
  ParsedPacket p = first(kFirstExpectedPsn, 2 * kResponderMtu);
  p.payload_length = kResponderMtu - 4;
  expect_refused(p, kInvalid);
  expect_refused(first(kFirstExpectedPsn, kResponderMtu), kInvalid);
  p = first(kFirstExpectedPsn, 2 * kResponderMtu);
  p.pad = 1;
  expect_refused(p, kInvalid);
  receive(first(0xFFFFFE, 2 * kResponderMtu));
  expect_refused(packet(Opcode::kWriteMiddle, 0xFFFFFF, kResponderMtu), kInvalid);
  // LAST carries what is left, 1 to MTU bytes, with the pad that follows from it.
  receive(first(0xFFFFFE, kResponderMtu + 6));
  expect_refused(packet(Opcode::kWriteLast, 0xFFFFFF, 5), kInvalid);
  receive(first(0xFFFFFE, 2 * kResponderMtu + 6));
  expect_refused(packet(Opcode::kWriteLast, 0xFFFFFF, kResponderMtu), kInvalid);
  receive(first(0xFFFFFE, kResponderMtu + 6));
  p = packet(Opcode::kWriteLast, 0xFFFFFF, 6);
  p.pad = 1;
  expect_refused(p, kInvalid);
  // ONLY carries its DMA length, at most the MTU.
  p = only(kFirstExpectedPsn, 8);
  p.dma_length = 12;
  expect_refused(p, kInvalid);
  expect_refused(only(kFirstExpectedPsn, kResponderMtu + 4), kInvalid);
}

TEST_F(ResponderTest, KeyAndRange) {
  constexpr Syndrome kAccess = Syndrome::kNakRemoteAccess;
  ParsedPacket p = only(kFirstExpectedPsn);
  p.rkey = 0x78;
  expect_refused(p, kAccess);
  p = only(kFirstExpectedPsn);
  p.address = kResponderRegion.address - 1;
  expect_refused(p, kAccess);
  p = only(kFirstExpectedPsn);
  p.address = kResponderRegion.address + kResponderRegion.bytes - 3;
  expect_refused(p, kAccess);
  p.address = UINT64_MAX - 1;
  expect_refused(p, kAccess);
  expect_refused(first(kFirstExpectedPsn, 8193), kAccess);
  // The last bytes of the region, and all of it.
  p.address = kResponderRegion.address + kResponderRegion.bytes - 4;
  EXPECT_EQ(receive(p).arrival, Arrival::kAccepted);
  EXPECT_EQ(receive(first(0xFFFFFF, 8192)).arrival, Arrival::kAccepted);
}

TEST_F(ResponderTest, NeverConnectedDropsEverything) {
  responder_ = Responder();
  EXPECT_EQ(receive(only(0)).arrival, Arrival::kDropped);
  expect_nothing_owed();
}

}  // namespace
}  // namespace rankwire
