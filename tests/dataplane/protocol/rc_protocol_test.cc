// The requester's protocol as event - expect: opcodes, going back, NAKs, retries, time-outs.
#include <gtest/gtest.h>

#include "dataplane/protocol/nic_profile.h"
#include "tests/dataplane/protocol/rc_script.h"

namespace rankwire {
namespace {

using enum Opcode;

class RcProtocol : public RequesterScript {};

struct VerbCase {
  Verb verb;
  Opcode first, middle, last, only;
};

// IBTA 9.2.1 table 38.
constexpr VerbCase kVerbCases[] = {
    {Verb::kSend, kSendFirst, kSendMiddle, kSendLast, kSendOnly},
    {Verb::kSendImmediate, kSendFirst, kSendMiddle, kSendLastImmediate, kSendOnlyImmediate},
    {Verb::kWrite, kWriteFirst, kWriteMiddle, kWriteLast, kWriteOnly},
    {Verb::kWriteImmediate, kWriteFirst, kWriteMiddle, kWriteLastImmediate, kWriteOnlyImmediate},
};

TEST_F(RcProtocol, OpcodeSaysThePlaceInTheMessage) {
  for (const VerbCase& verb : kVerbCases) {
    begin(defaults());
    post(verb.verb, mtu);
    post(verb.verb, 2 * mtu);
    post(verb.verb, 3 * mtu - 5);
    expect_sent(verb.only, psn(0)).carries(0, mtu).names(0, mtu).asks_for_ack();
    expect_sent(verb.first, psn(1)).carries(0, mtu).names(0, 2 * mtu).asks_for_no_ack();
    expect_sent(verb.last, psn(2)).carries(mtu, mtu).asks_for_ack();
    expect_sent(verb.first, psn(3)).names(0, 3 * mtu - 5);
    expect_sent(verb.middle, psn(4)).carries(mtu, mtu).asks_for_no_ack();
    expect_sent(verb.last, psn(5)).carries(2 * mtu, mtu - 5).asks_for_ack();
    expect_silence();
  }
}

TEST_F(RcProtocol, SolicitedIsTheLastPacketOfWhatTheReceiverSees) {
  post(Verb::kSend, 2 * mtu, true);
  post(Verb::kWriteImmediate, 4, true);
  // A plain WRITE completes nothing at the receiver (IBTA 9.2.3: SEND and WRITE with immediate only).
  post(Verb::kWrite, 4, true);
  expect_sent(kSendFirst, psn(0));
  expect_sent(kSendLast, psn(1)).solicited();
  expect_sent(kWriteOnlyImmediate, psn(2)).solicited();
  expect_sent(kWriteOnly, psn(3));
}

TEST_F(RcProtocol, SequenceNumbersWrapForEveryVerb) {
  for (const VerbCase& verb : kVerbCases) {
    begin(defaults(), 0xFFFFFD);
    const uint32_t message = post(verb.verb, 6 * mtu);
    expect_sent(verb.first, 0xFFFFFD);
    expect_sent(verb.middle, 0xFFFFFE);
    expect_sent(verb.middle, 0xFFFFFF);
    expect_sent(verb.middle, 0);
    expect_sent(verb.middle, 1);
    expect_sent(verb.last, 2);
    // Lost before, at and behind the wrap.
    for (const uint32_t lost : {0xFFFFFEu, 0xFFFFFFu, 0u, 1u}) {
      EXPECT_EQ(nak(lost), AckOutcome::kRewind);
      for (uint32_t p = lost; p != 2; p = psn_add(p, 1)) expect_sent(verb.middle, p).retransmission();
      expect_sent(verb.last, 2).retransmission();
    }
    EXPECT_EQ(ack(2), AckOutcome::kProgress);
    expect_done(message);
  }
}

TEST_F(RcProtocol, RestartInsideAMessageGoesOnWithoutReth) {
  post(Verb::kWriteImmediate, 3 * mtu);
  send_all();
  EXPECT_EQ(nak(psn(1)), AckOutcome::kRewind);
  expect_sent(kWriteMiddle, psn(1)).retransmission();
  expect_sent(kWriteLastImmediate, psn(2)).retransmission().asks_for_ack();
  // All of it is lost: the RETH again.
  post(Verb::kSend, 2 * mtu);
  send_all();
  EXPECT_EQ(nak(psn(3)), AckOutcome::kRewind);
  expect_sent(kSendFirst, psn(3)).retransmission();
}

TEST_F(RcProtocol, EveryNakCode) {
  struct Case {
    uint8_t syndrome;
    AckOutcome outcome;
    Failure failure;
  };
  // IBTA 9.7.5.2; 5 .. 31 and the type 010 are reserved, 4 belongs to another service (RD).
  const Case cases[] = {
      {0x60, AckOutcome::kRewind, Failure::kNone},         {0x61, AckOutcome::kFailed, Failure::kRemoteInvalid},
      {0x62, AckOutcome::kFailed, Failure::kRemoteAccess}, {0x63, AckOutcome::kFailed, Failure::kRemoteOperational},
      {0x64, AckOutcome::kGhost, Failure::kNone},          {0x65, AckOutcome::kGhost, Failure::kNone},
      {0x7F, AckOutcome::kGhost, Failure::kNone},          {0x40, AckOutcome::kGhost, Failure::kNone},
      {0x5F, AckOutcome::kGhost, Failure::kNone},          {0x80, AckOutcome::kGhost, Failure::kNone},
      {0xFF, AckOutcome::kGhost, Failure::kNone},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(int{c.syndrome});
    begin(defaults());
    const uint32_t arrived = post(Verb::kSend, mtu), named = post(Verb::kSend, mtu), behind = post(Verb::kSend, mtu);
    send_all();
    EXPECT_EQ(acknowledgement(psn(1), c.syndrome), c.outcome);
    // A NAK acknowledges what is before it; what means nothing does nothing.
    if (c.outcome == AckOutcome::kGhost) {
      expect_none_done();
      continue;
    }
    expect_done(arrived);
    if (c.outcome == AckOutcome::kFailed) {
      expect_failed(named, c.failure);
      expect_failed(behind, Failure::kFlushed);
      expect_silence();
      expect_failed(post(Verb::kSend, 1), Failure::kFlushed);
    }
    expect_none_done();
  }
}

TEST_F(RcProtocol, OneRepairAtATime) {
  post(Verb::kWrite, 8 * mtu);
  send_all();
  EXPECT_EQ(nak(psn(2)), AckOutcome::kRewind);
  expect_sent(kWriteMiddle, psn(2)).retransmission();
  EXPECT_EQ(nak(psn(2)), AckOutcome::kStale);
  EXPECT_EQ(requester().retries(), 1u);
  // Progress ends the repair: the next loss has its own.
  EXPECT_EQ(nak(psn(3)), AckOutcome::kRewind);
  EXPECT_EQ(requester().retries(), 1u);
  // So does a time-out.
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kRewind);
  EXPECT_EQ(nak(psn(3)), AckOutcome::kFailed);  // the third without progress; retry_count is 2
}

TEST_F(RcProtocol, RetriesRunOut) {
  const uint32_t a = post(Verb::kSend, mtu), b = post(Verb::kRead, mtu);
  Time sent = now();
  for (int i = 0; i < 2; ++i) {
    send_all();
    EXPECT_EQ(requester().deadline(), sent + kTimeout);
    EXPECT_EQ(time_out(), AckOutcome::kRewind);
    sent = now();
  }
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kFailed);
  expect_failed(a, Failure::kRetryExceeded);
  expect_failed(b, Failure::kFlushed);
  EXPECT_EQ(requester().deadline(), Time::never());
}

TEST_F(RcProtocol, NoRetriesMeansNone) {
  ReliableOptions options = defaults();
  options.retry_count = 0;
  begin(options);
  const uint32_t message = post(Verb::kSend, mtu);
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kFailed);
  expect_failed(message, Failure::kRetryExceeded);
}

// Linux rxe treats retry_cnt 7 as no limit; the specification does not.
TEST_F(RcProtocol, SevenRetriesAreUnlimitedWhereTheProfileSaysSo) {
  begin(reliable_options(find_nic_profile("rxe").value(), mtu));
  post(Verb::kSend, mtu);
  for (int i = 0; i < 1000; ++i) {
    send_all();
    ASSERT_EQ(time_out(), AckOutcome::kRewind);
  }
  begin(reliable_options(NicProfile(), mtu));
  post(Verb::kSend, mtu);
  for (int i = 0; i < 7; ++i) {
    send_all();
    ASSERT_EQ(time_out(), AckOutcome::kRewind);
  }
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kFailed);
}

// Measured on a ConnectX-6: with exponent t and R retries it gives up after R x I - c, I = 2 x 4.096 us x 2^max(t, 16),
// c = 96 ms for t <= 16 and 364 ms for t = 20. The published waits are rounded: within 15 ms.
TEST_F(RcProtocol, ConnectXGivesUpWhenItWasSeenTo) {
  struct Case {
    uint32_t exponent, retries;
    int64_t interval_us, less_ms;
  };
  // 2 x 4.096 us x 2^16 = 536.871 ms, x 2^20 = 8589.935 ms.
  for (const Case& c : {Case{14, 7, 536'871, 96}, Case{16, 1, 536'871, 96}, Case{8, 3, 536'871, 96},
                        Case{20, 7, 8'589'935, 364}, Case{20, 1, 8'589'935, 364}}) {
    NicProfile profile = find_nic_profile("mlx5").value();
    profile.timeout_exponent = c.exponent;
    profile.retry_count = c.retries;
    begin(reliable_options(profile, mtu));
    post(Verb::kWriteImmediate, mtu);
    send_all();
    EXPECT_EQ(requester().deadline(), now() + microseconds(8600));
    while (time_out() == AckOutcome::kRewind) send_all();
    const Duration expected = microseconds(c.interval_us * c.retries) - milliseconds(c.less_ms);
    EXPECT_LT(now() - Time(), expected + milliseconds(15)) << c.exponent;
    EXPECT_GT(now() - Time(), expected - milliseconds(15)) << c.exponent;
  }
}

TEST_F(RcProtocol, EarlyTimeoutsBeginAnewAfterProgress) {
  NicProfile profile = find_nic_profile("mlx5").value();
  begin(reliable_options(profile, mtu));
  post(Verb::kWriteImmediate, 2 * mtu);
  send_all();
  for (int i = 0; i < 4; ++i) {
    time_out();
    send_all();
  }
  EXPECT_EQ(requester().retries(), 0u);
  EXPECT_EQ(requester().deadline(), now() + milliseconds(100));  // the fifth wait
  EXPECT_EQ(ack(psn(0)), AckOutcome::kProgress);
  EXPECT_EQ(requester().deadline(), now() + microseconds(8600));
}

TEST_F(RcProtocol, NoTimeoutNeverExpires) {
  NicProfile profile;
  profile.timeout_exponent = 0;
  begin(reliable_options(profile, mtu));
  post(Verb::kSend, mtu);
  send_all();
  EXPECT_EQ(requester().deadline(), Time::never());
}

TEST_F(RcProtocol, LocalFailureIsWhatItsOwnerSays) {
  const uint32_t a = post(Verb::kSend, mtu), b = post(Verb::kSend, mtu);
  send_all();
  requester().fail(pool(), Failure::kUnreachable, Failure::kUnreachable);
  expect_failed(a, Failure::kUnreachable);
  expect_failed(b, Failure::kUnreachable);
  expect_failed(post(Verb::kSend, mtu), Failure::kUnreachable);
  EXPECT_EQ(requester().state(), Requester::State::kError);
}

class RoundTrip : public RequesterScript {
 protected:
  Duration sample(uint32_t psn, uint8_t syndrome = 0x1F) {
    return requester().acknowledge(pool(), now(), {.psn = psn, .msn = 0, .syndrome = syndrome}).round_trip;
  }
};

TEST_F(RoundTrip, IsFromThePacketThatAsksToItsOwnAcknowledgement) {
  post(Verb::kWriteImmediate, 2 * mtu);
  send_all();
  pass(microseconds(3));
  EXPECT_EQ(sample(psn(1)), microseconds(3));
  // Once a packet.
  EXPECT_EQ(sample(psn(1)), Duration::max());
}

TEST_F(RoundTrip, IsUnknownWhenTheAcknowledgementNamesALaterPacket) {
  post(Verb::kSend, mtu);
  post(Verb::kSend, mtu);
  send_all();
  pass(microseconds(3));
  // The first of the two was being measured.
  EXPECT_EQ(sample(psn(1)), Duration::max());
  post(Verb::kSend, mtu);
  send_all();
  pass(microseconds(4));
  EXPECT_EQ(sample(psn(2)), microseconds(4));
}

// Karn and Partridge, SIGCOMM 1987: which of the two transmissions is acknowledged cannot be known.
TEST_F(RoundTrip, IsUnknownAfterARetransmission) {
  post(Verb::kSend, mtu);
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kRewind);
  send_all();
  pass(microseconds(1));
  EXPECT_EQ(sample(psn(0)), Duration::max());
}

}  // namespace
}  // namespace rankwire
