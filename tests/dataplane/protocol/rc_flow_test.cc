// What holds a requester back, as event - expect: receivers that are not ready, and credits.
#include <gtest/gtest.h>

#include "tests/dataplane/protocol/rc_script.h"

namespace rankwire {
namespace {

using enum Opcode;

class RcNotReady : public RequesterScript {
 protected:
  static ReliableOptions with_retries(uint32_t retries) {
    ReliableOptions options = defaults();
    options.not_ready_retry_count = retries;
    return options;
  }
};

TEST(NotReadyWait, IsTheSpecifiedTable) {
  // IBTA 9.7.5.2.8, in units of 10 us.
  const int64_t expected[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  for (uint32_t code = 0; code < 32; ++code) EXPECT_EQ(not_ready_wait(code), microseconds(10 * expected[code])) << code;
}

TEST_F(RcNotReady, WaitsAndGoesBackToTheNakedPacket) {
  const uint32_t a = post(Verb::kSend, mtu), b = post(Verb::kSend, 2 * mtu), c = post(Verb::kWriteImmediate, mtu);
  send_all();
  EXPECT_EQ(not_ready(psn(1), 12), AckOutcome::kNotReady);
  expect_done(a);
  expect_silence();
  EXPECT_EQ(requester().holds() & Requester::kReceiverNotReady, Requester::kReceiverNotReady);
  EXPECT_EQ(requester().deadline(), now() + microseconds(640));
  EXPECT_EQ(time_out(), AckOutcome::kResumed);
  expect_sent(kSendFirst, psn(1)).retransmission();
  expect_sent(kSendLast, psn(2)).retransmission().asks_for_ack();
  expect_sent(kWriteOnlyImmediate, psn(3)).retransmission();
  EXPECT_EQ(ack(psn(3)), AckOutcome::kProgress);
  expect_done(b);
  expect_done(c);
  EXPECT_EQ(requester().retries(), 0u);
}

// What was already on its way behind the packet that found no receive arrives out of sequence.
TEST_F(RcNotReady, SequenceNaksOfPacketsBehindItCostNothing) {
  post(Verb::kSend, mtu);
  post(Verb::kSend, mtu);
  post(Verb::kSend, mtu);
  send_all();
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(not_ready(psn(0)), AckOutcome::kNotReady);
    EXPECT_EQ(nak(psn(0)), AckOutcome::kStale);
    EXPECT_EQ(not_ready(psn(0)), AckOutcome::kStale);
    EXPECT_EQ(time_out(), AckOutcome::kResumed);
    expect_sent(kSendOnly, psn(0)).retransmission();
    EXPECT_EQ(nak(psn(0)), AckOutcome::kStale);  // a late one
    send_all();
  }
  EXPECT_EQ(requester().retries(), 0u);
  EXPECT_EQ(requester().not_ready_retries(), 10u);
}

TEST_F(RcNotReady, RetriesRunOut) {
  begin(with_retries(3));
  const uint32_t a = post(Verb::kSend, mtu), b = post(Verb::kSend, mtu);
  for (int i = 0; i < 3; ++i) {
    send_all();
    EXPECT_EQ(not_ready(psn(0)), AckOutcome::kNotReady);
    EXPECT_EQ(time_out(), AckOutcome::kResumed);
  }
  send_all();
  EXPECT_EQ(not_ready(psn(0)), AckOutcome::kFailed);
  expect_failed(a, Failure::kNotReadyExceeded);
  expect_failed(b, Failure::kFlushed);
}

TEST_F(RcNotReady, UnlimitedRetriesDoNotRunOut) {
  begin(with_retries(kUnlimitedRetries));
  post(Verb::kSend, mtu);
  for (int i = 0; i < 1000; ++i) {
    send_all();
    ASSERT_EQ(not_ready(psn(0)), AckOutcome::kNotReady);
    ASSERT_EQ(time_out(), AckOutcome::kResumed);
  }
}

TEST_F(RcNotReady, ProgressRestoresTheRetries) {
  begin(with_retries(1));
  for (uint32_t i = 0; i < 5; ++i) post(Verb::kSend, mtu);
  send_all();
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(not_ready(psn(i)), AckOutcome::kNotReady) << i;
    EXPECT_EQ(time_out(), AckOutcome::kResumed);
    send_all();
  }
}

TEST_F(RcNotReady, LateAcknowledgementEndsTheWait) {
  const uint32_t message = post(Verb::kSend, mtu);
  post(Verb::kSend, mtu);
  send_all();
  EXPECT_EQ(not_ready(psn(0)), AckOutcome::kNotReady);
  EXPECT_EQ(ack(psn(0)), AckOutcome::kProgress);
  expect_done(message);
  EXPECT_EQ(requester().deadline(), Time::never());
  expect_sent(kSendOnly, psn(1)).retransmission();
}

TEST_F(RcNotReady, LossOfTheRepetitionIsATimeout) {
  post(Verb::kSend, mtu);
  send_all();
  not_ready(psn(0));
  EXPECT_EQ(time_out(), AckOutcome::kResumed);
  expect_sent(kSendOnly, psn(0)).retransmission();
  EXPECT_EQ(requester().deadline(), now() + kTimeout);
  EXPECT_EQ(time_out(), AckOutcome::kRewind);
  EXPECT_EQ(requester().retries(), 1u);
}

class RcCredits : public RequesterScript {
 protected:
  bool out_of_credits() { return (requester().holds() & Requester::kOutOfCredits) != 0; }
};

TEST(CreditCode, IsTheSpecifiedTable) {
  // The credit codes of the AETH, IBTA 9.7.5.
  EXPECT_EQ(kCredits[4], 4);
  EXPECT_EQ(kCredits[5], 6);
  EXPECT_EQ(kCredits[0x1E], 32768);
  EXPECT_EQ(credit_code(0), 0);
  EXPECT_EQ(credit_code(5), 4);  // never more than there are
  EXPECT_EQ(credit_code(6), 5);
  EXPECT_EQ(credit_code(32767), 0x1D);
  EXPECT_EQ(credit_code(UINT32_MAX), 0x1E);
  for (uint32_t code = 0; code < kCredits.size(); ++code) EXPECT_EQ(credit_code(kCredits[code]), code);
}

TEST_F(RcCredits, AreUnlimitedUntilSomeAreGranted) {
  for (int i = 0; i < 8; ++i) post(Verb::kSend, 4);
  EXPECT_EQ(send_all(), 8u);
}

TEST_F(RcCredits, LimitIsTheMessageCountAndTheCredits) {
  for (int i = 0; i < 8; ++i) post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  // One message is done, two more receives are there: messages 2 and 3, and 4 as the probe.
  EXPECT_EQ(ack_granting(2, psn(0), 1), AckOutcome::kProgress);
  EXPECT_EQ(send_all(), 3u);
  EXPECT_TRUE(out_of_credits());
  // An acknowledgement that is otherwise old brings another.
  EXPECT_EQ(ack_granting(3, psn(0), 1), AckOutcome::kStale);
  EXPECT_EQ(send_all(), 1u);
  // Fewer than are known already: overtaken on the way.
  EXPECT_EQ(ack_granting(1, psn(0), 1), AckOutcome::kStale);
  EXPECT_TRUE(out_of_credits());
  // Credits invalid: no limit.
  EXPECT_EQ(ack(psn(0)), AckOutcome::kStale);
  EXPECT_EQ(send_all(), 3u);
}

TEST_F(RcCredits, ProbeIsOnePacketUntilItIsAcknowledged) {
  post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  ack_granting(0, psn(0), 1);
  const uint32_t probe = post(Verb::kSend, 3 * mtu);
  post(Verb::kSend, 4);
  expect_sent(kSendFirst, psn(1)).asks_for_ack();
  expect_silence();
  EXPECT_TRUE(out_of_credits());
  EXPECT_NE(requester().deadline(), Time::never());
  // It found a receive, which is all there is.
  EXPECT_EQ(ack_granting(1, psn(1), 1), AckOutcome::kProgress);
  expect_sent(kSendMiddle, psn(2));
  expect_sent(kSendLast, psn(3));
  expect_sent(kSendOnly, psn(4));  // the next probe
  expect_silence();
  EXPECT_EQ(ack_granting(0, psn(3), 2), AckOutcome::kProgress);
  pool().finished.pop_front(pool().messages);
  expect_done(probe);
}

TEST_F(RcCredits, WriteWithImmediateTakesItsReceiveLast) {
  post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  ack_granting(0, psn(0), 1);
  post(Verb::kWriteImmediate, 3 * mtu);
  post(Verb::kWriteImmediate, mtu);
  EXPECT_EQ(send_all(), 3u);
  EXPECT_TRUE(out_of_credits());
}

TEST_F(RcCredits, OperationsWithoutReceiveNeedNone) {
  post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  ack_granting(1, psn(0), 1);
  post(Verb::kWrite, mtu);
  post(Verb::kRead, mtu);
  // The third and fourth message of the connection do not use up the credit: the fifth has it, the sixth is the probe.
  post(Verb::kSend, 4);
  post(Verb::kSend, 4);
  post(Verb::kSend, 4);
  EXPECT_EQ(send_all(), 4u);
  EXPECT_TRUE(out_of_credits());
}

TEST_F(RcCredits, OldestMessageIsNeverHeldForGood) {
  // A peer whose MSN stands still: after each answer one message goes.
  for (int i = 0; i < 4; ++i) post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ack_granting(0, psn(i), 0), AckOutcome::kProgress);
    expect_sent(kSendOnly, psn(i + 1));
    expect_silence();
  }
}

TEST_F(RcCredits, RunningOutInsideAMessageLeavesNothingUnasked) {
  post(Verb::kSend, 4);
  post(Verb::kSend, 20 * mtu);
  expect_sent(kSendOnly, psn(0));
  expect_sent(kSendFirst, psn(1)).asks_for_no_ack();
  expect_sent(kSendMiddle, psn(2)).asks_for_no_ack();
  // Only now it is known that credits are limited. What has been sent must be asked about before the requester stops.
  EXPECT_EQ(ack_granting(0, psn(0), 1), AckOutcome::kProgress);
  EXPECT_GT(send_all(), 0u);
  expect_silence();
  EXPECT_NE(requester().deadline(), Time::never());
}

TEST_F(RcCredits, ProbeThatFindsNoReceiveIsRepeated) {
  post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  ack_granting(0, psn(0), 1);
  post(Verb::kSend, 2 * mtu);
  expect_sent(kSendFirst, psn(1));
  EXPECT_EQ(not_ready(psn(1)), AckOutcome::kNotReady);
  EXPECT_EQ(time_out(), AckOutcome::kResumed);
  expect_sent(kSendFirst, psn(1)).retransmission().asks_for_ack();
  expect_silence();
}

TEST_F(RcCredits, LimitWraps) {
  // 2^24 - 1 messages before: message numbers wrap like sequence numbers.
  for (int i = 0; i < 3; ++i) post(Verb::kSend, 4);
  expect_sent(kSendOnly, psn(0));
  // MSN + 3 credits = 2^24 + 1: message 1 is within, message 2 the probe.
  EXPECT_EQ(ack_granting(3, psn(0) - 1, 0xFFFFFE), AckOutcome::kStale);
  expect_sent(kSendOnly, psn(1));
  expect_silence();
}

}  // namespace
}  // namespace rankwire
