// READs at the requester, as event - expect.
#include <gtest/gtest.h>

#include "tests/dataplane/protocol/rc_script.h"

namespace rankwire {
namespace {

using enum Opcode;

class RcRead : public RequesterScript {
 protected:
  void expect_response(Opcode opcode, uint32_t psn, uint32_t bytes, uint32_t slot, uint32_t offset) {
    const ReadReception reception = response(opcode, psn, bytes);
    EXPECT_EQ(reception.outcome, ResponseOutcome::kAccepted) << psn;
    EXPECT_EQ(reception.message, slot) << psn;
    EXPECT_EQ(reception.offset, offset) << psn;
    EXPECT_EQ(reception.last, opcode == kReadResponseLast || opcode == kReadResponseOnly) << psn;
  }
  ResponseOutcome outcome(Opcode opcode, uint32_t psn, uint32_t bytes, uint8_t syndrome = 0x1F) {
    return response(opcode, psn, bytes, syndrome).outcome;
  }
};

TEST_F(RcRead, RequestTakesThePsnsOfItsResponse) {
  const uint32_t read = post(Verb::kRead, 3 * mtu - 7);
  const uint32_t write = post(Verb::kWrite, 4);
  expect_sent(kReadRequest, psn(0)).asks_for_ack().names(0, 3 * mtu - 7).carries(0, 0);
  expect_sent(kWriteOnly, psn(3));
  expect_response(kReadResponseFirst, psn(0), mtu, read, 0);
  expect_response(kReadResponseMiddle, psn(1), mtu, read, mtu);
  expect_none_done();
  expect_response(kReadResponseLast, psn(2), mtu - 7, read, 2 * mtu);
  expect_done(read);
  EXPECT_EQ(ack(psn(3)), AckOutcome::kProgress);
  expect_done(write);
  EXPECT_EQ(requester().deadline(), Time::never());
}

TEST_F(RcRead, EmptyReadIsOnePacket) {
  const uint32_t read = post(Verb::kRead, 0);
  expect_sent(kReadRequest, psn(0)).names(0, 0);
  expect_response(kReadResponseOnly, psn(0), 0, read, 0);
  expect_done(read);
}

TEST_F(RcRead, SequenceNumbersWrap) {
  for (const uint32_t first : {0xFFFFFFu, 0xFFFFFEu, 0xFFFFFDu, 0xFFFFFCu}) {
    begin(defaults(), first);
    const uint32_t read = post(Verb::kRead, 3 * mtu);
    const uint32_t send = post(Verb::kSend, 4);
    expect_sent(kReadRequest, psn(0));
    expect_sent(kSendOnly, psn(3));
    expect_response(kReadResponseFirst, psn(0), mtu, read, 0);
    // The second response is lost.
    EXPECT_EQ(outcome(kReadResponseLast, psn(2), mtu), ResponseOutcome::kImpliedNak);
    expect_sent(kReadRequest, psn(1)).retransmission().names(mtu, 2 * mtu);
    expect_sent(kSendOnly, psn(3)).retransmission();
    expect_response(kReadResponseFirst, psn(1), mtu, read, mtu);
    expect_response(kReadResponseLast, psn(2), mtu, read, 2 * mtu);
    EXPECT_EQ(ack(psn(3)), AckOutcome::kProgress);
    expect_done(read);
    expect_done(send);
  }
}

TEST_F(RcRead, OvershootsTheWindowAndClosesIt) {
  // 15 of 16 packets are in flight; a READ of 20 goes, and then nothing until it is answered beyond the window.
  const uint32_t write = post(Verb::kWrite, 15 * mtu);
  const uint32_t read = post(Verb::kRead, 20 * mtu);
  post(Verb::kWrite, mtu);
  EXPECT_EQ(send_all(), 16u);
  EXPECT_EQ(requester().in_flight(), 35u);
  expect_response(kReadResponseFirst, psn(15), mtu, read, 0);
  expect_done(write);
  expect_silence();  // 19 unacknowledged
  for (uint32_t i = 1; i < 4; ++i) expect_response(kReadResponseMiddle, psn(15 + i), mtu, read, i * mtu);
  expect_silence();  // 16
  expect_response(kReadResponseMiddle, psn(19), mtu, read, 4 * mtu);
  expect_sent(kWriteOnly, psn(35)).asks_for_ack();
}

TEST_F(RcRead, NoMoreAreOutstandingThanAgreed) {
  const uint32_t a = post(Verb::kRead, 4);
  const uint32_t b = post(Verb::kRead, 4);
  post(Verb::kRead, 4);
  post(Verb::kWrite, 4);
  EXPECT_EQ(send_all(), 2u);
  EXPECT_EQ(requester().holds(), Requester::kReadsOutstanding);
  expect_response(kReadResponseOnly, psn(0), 4, a, 0);
  expect_sent(kReadRequest, psn(2));
  // A WRITE behind it does not wait.
  expect_sent(kWriteOnly, psn(3));
  expect_response(kReadResponseOnly, psn(1), 4, b, 0);
  EXPECT_EQ(requester().reads_outstanding(), 1u);
}

TEST_F(RcRead, ResponseAcknowledgesWhatIsBeforeIt) {
  const uint32_t a = post(Verb::kSend, 2 * mtu), b = post(Verb::kWrite, mtu), read = post(Verb::kRead, 2 * mtu);
  send_all();
  expect_response(kReadResponseFirst, psn(3), mtu, read, 0);
  expect_done(a);
  expect_done(b);
}

TEST_F(RcRead, AcknowledgementBeyondAnUnansweredReadIsAnImpliedNak) {
  const uint32_t a = post(Verb::kWrite, mtu), read = post(Verb::kRead, 2 * mtu), b = post(Verb::kWrite, mtu);
  send_all();
  EXPECT_EQ(ack(psn(3)), AckOutcome::kImpliedNak);
  expect_done(a);
  expect_none_done();
  EXPECT_EQ(requester().retries(), 1u);
  expect_sent(kReadRequest, psn(1)).retransmission().names(0, 2 * mtu);
  // Others of the kind are answered by the same repetition.
  EXPECT_EQ(ack(psn(3)), AckOutcome::kStale);
  EXPECT_EQ(outcome(kReadResponseLast, psn(2), mtu), ResponseOutcome::kStale);
  expect_sent(kWriteOnly, psn(3)).retransmission();
  expect_response(kReadResponseFirst, psn(1), mtu, read, 0);
  expect_response(kReadResponseLast, psn(2), mtu, read, mtu);
  EXPECT_EQ(ack(psn(3)), AckOutcome::kProgress);
  expect_done(read);
  expect_done(b);
}

TEST_F(RcRead, NakBeyondAnUnansweredReadGoesBackToTheRead) {
  for (const uint8_t syndrome : {0x60, 0x21}) {
    begin(defaults());
    post(Verb::kRead, 2 * mtu);
    post(Verb::kSend, mtu);
    send_all();
    EXPECT_EQ(acknowledgement(psn(2), syndrome), AckOutcome::kImpliedNak);
    expect_sent(kReadRequest, psn(0)).retransmission();
  }
}

TEST_F(RcRead, LaterReadsResponseShowsThatAnEarlierOnesIsLost) {
  const uint32_t a = post(Verb::kRead, 2 * mtu), b = post(Verb::kRead, mtu);
  send_all();
  expect_response(kReadResponseFirst, psn(0), mtu, a, 0);
  EXPECT_EQ(outcome(kReadResponseOnly, psn(2), mtu), ResponseOutcome::kImpliedNak);
  expect_sent(kReadRequest, psn(1)).retransmission().names(mtu, mtu);
  expect_sent(kReadRequest, psn(2)).retransmission();
  expect_silence();
  expect_response(kReadResponseOnly, psn(1), mtu, a, mtu);
  expect_response(kReadResponseOnly, psn(2), mtu, b, 0);
  expect_done(a);
  expect_done(b);
}

TEST_F(RcRead, TimeOutAsksForTheRemainder) {
  const uint32_t read = post(Verb::kRead, 4 * mtu + 1);
  send_all();
  expect_response(kReadResponseFirst, psn(0), mtu, read, 0);
  pass(microseconds(5));
  expect_response(kReadResponseMiddle, psn(1), mtu, read, mtu);
  EXPECT_EQ(requester().deadline(), now() + kTimeout);  // each response is progress
  EXPECT_EQ(time_out(), AckOutcome::kRewind);
  expect_sent(kReadRequest, psn(2)).retransmission().names(2 * mtu, 2 * mtu + 1);
  expect_silence();
}

TEST_F(RcRead, LateResponsesCompleteWhatIsAboutToBeAskedForAgain) {
  const uint32_t a = post(Verb::kRead, 2 * mtu), b = post(Verb::kRead, mtu), c = post(Verb::kRead, mtu);
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kRewind);
  expect_response(kReadResponseFirst, psn(0), mtu, a, 0);
  expect_response(kReadResponseLast, psn(1), mtu, a, mtu);
  EXPECT_EQ(requester().reads_outstanding(), 0u);
  expect_sent(kReadRequest, psn(2)).retransmission();
  expect_sent(kReadRequest, psn(3));
  expect_response(kReadResponseOnly, psn(2), mtu, b, 0);
  expect_response(kReadResponseOnly, psn(3), mtu, c, 0);
  expect_done(a);
  expect_done(b);
  expect_done(c);
}

TEST_F(RcRead, ImpliedNaksUseUpRetries) {
  const uint32_t read = post(Verb::kRead, mtu), write = post(Verb::kWrite, mtu);
  send_all();
  EXPECT_EQ(ack(psn(1)), AckOutcome::kImpliedNak);
  send_all();
  EXPECT_EQ(time_out(), AckOutcome::kRewind);
  send_all();
  EXPECT_EQ(ack(psn(1)), AckOutcome::kFailed);
  expect_failed(read, Failure::kRetryExceeded);
  expect_failed(write, Failure::kFlushed);
}

TEST_F(RcRead, FatalNakFailsTheRead) {
  const uint32_t read = post(Verb::kRead, mtu);
  send_all();
  EXPECT_EQ(acknowledgement(psn(0), 0x62), AckOutcome::kFailed);
  expect_failed(read, Failure::kRemoteAccess);
}

TEST_F(RcRead, DuplicateAndGhostResponsesChangeNothing) {
  const uint32_t read = post(Verb::kRead, 2 * mtu);
  post(Verb::kSend, mtu);
  EXPECT_EQ(outcome(kReadResponseFirst, psn(0), mtu), ResponseOutcome::kGhost);  // nothing was sent
  send_all();
  expect_response(kReadResponseFirst, psn(0), mtu, read, 0);
  EXPECT_EQ(outcome(kReadResponseFirst, psn(0), mtu), ResponseOutcome::kDuplicate);
  EXPECT_EQ(outcome(kReadResponseOnly, psn(2), mtu), ResponseOutcome::kGhost);  // that is the SEND
  EXPECT_EQ(outcome(kReadResponseOnly, psn(3), mtu), ResponseOutcome::kGhost);
  EXPECT_EQ(requester().retries(), 0u);
}

TEST_F(RcRead, ResponseMustHaveTheLengthThatWasAskedFor) {
  const uint32_t read = post(Verb::kRead, 2 * mtu + 8);
  send_all();
  EXPECT_EQ(outcome(kReadResponseFirst, psn(0), mtu - 4), ResponseOutcome::kMalformed);
  EXPECT_EQ(outcome(kReadResponseLast, psn(0), mtu), ResponseOutcome::kMalformed);
  EXPECT_EQ(outcome(kReadResponseOnly, psn(0), mtu), ResponseOutcome::kMalformed);
  EXPECT_EQ(outcome(kReadResponseFirst, psn(0), mtu, 0x60), ResponseOutcome::kMalformed);  // a NAK is no response
  expect_response(kReadResponseFirst, psn(0), mtu, read, 0);
  expect_response(kReadResponseMiddle, psn(1), mtu, read, mtu);
  EXPECT_EQ(outcome(kReadResponseLast, psn(2), 4), ResponseOutcome::kMalformed);
  EXPECT_EQ(outcome(kReadResponseMiddle, psn(2), 8), ResponseOutcome::kMalformed);
  expect_response(kReadResponseLast, psn(2), 8, read, 2 * mtu);
}

}  // namespace
}  // namespace rankwire
