#include "dataplane/protocol/requester.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

constexpr Duration kTimeout = ack_timeout(1);  // 8.192 us

class RequesterTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kFirstPsn = 100;

  RequesterTest() : pool_({.mtu = 1024, .window = 8, .ack_every = 4, .retry_count = 2, .timeout = kTimeout}, 64) {}

  uint32_t post(uint32_t bytes, uint32_t index = 0) {
    const uint32_t slot = pool_.messages.take();
    pool_.messages[slot].bytes = bytes;
    pool_.messages[slot].index = index;
    requester_.post(pool_, slot);
    return slot;
  }
  bool can_send() const { return requester_.can_send(pool_.options); }
  RequestRun send(Time now = Time()) { return send_run(1, now); }
  RequestRun send_run(uint32_t limit, Time now = Time()) {
    const RequestRun run = requester_.next_run(pool_, limit);
    requester_.sent(pool_, run, now);
    return run;
  }
  std::vector<uint32_t> send_all(Time now = Time()) {
    std::vector<uint32_t> psns;
    while (can_send()) psns.push_back(send(now).psn);
    return psns;
  }
  AckOutcome ack(uint32_t psn, Time now = Time()) { return acknowledge(psn, 0x1F, now); }
  AckOutcome nak(uint32_t psn, Time now = Time()) { return acknowledge(psn, 0x60, now); }
  AckOutcome acknowledge(uint32_t psn, uint8_t syndrome, Time now = Time()) {
    return requester_.acknowledge(pool_, now, {.psn = psn, .msn = 0, .syndrome = syndrome}).outcome;
  }
  /// The oldest finished message, or kNone.
  uint32_t finished() {
    return pool_.finished.empty() ? OutboundMessage::kNone : pool_.finished.pop_front(pool_.messages);
  }
  Failure failure_of(uint32_t slot) const { return pool_.messages[slot].failure; }

  RequesterPool pool_;
  Requester requester_{kFirstPsn};
};

TEST(Psn, DistanceIsSignedInTheCircleOf24Bits) {
  EXPECT_EQ(psn_distance(5, 7), 2);
  EXPECT_EQ(psn_distance(7, 5), -2);
  EXPECT_EQ(psn_distance(0xFFFFFF, 0), 1);
  EXPECT_EQ(psn_distance(0, 0xFFFFFF), -1);
  EXPECT_EQ(psn_distance(0, 0x7FFFFF), 0x7FFFFF);
  EXPECT_EQ(psn_distance(0, 0x800000), -0x800000);
  EXPECT_EQ(psn_add(0xFFFFFF, 1), 0u);
}

TEST(AckTimeout, IsTheSpecifiedFunction) {
  // IBTA 9.7.6.1.3: 4.096 us x 2^14 = 67.108864 ms.
  EXPECT_EQ(ack_timeout(14), Duration(67'108'864'000));
}

TEST_F(RequesterTest, OnePacketMessageIsWriteOnlyWithImmediate) {
  post(1024);
  const RequestRun packet = send();
  EXPECT_EQ(packet.opcode, Opcode::kWriteOnlyImmediate);
  EXPECT_EQ(packet.psn, kFirstPsn);
  EXPECT_EQ(packet.length, 1024u);
  EXPECT_TRUE(packet.ack_request);
  EXPECT_FALSE(packet.retransmission);
  EXPECT_FALSE(can_send());
}

TEST_F(RequesterTest, RunHoldsPacketsThatDifferBySequenceNumberAlone) {
  // Six packets, AckReq on every fourth and on the last, room for 8: FIRST | MIDDLE MIDDLE | MIDDLE with AckReq |
  // MIDDLE | LAST.
  post(6 * 1024);
  const uint32_t counts[] = {1, 2, 1, 1, 1};
  const bool ack_requests[] = {false, false, true, false, true};
  uint32_t sent = 0;
  for (size_t i = 0; i < 5; ++i) {
    const RequestRun run = send_run(16);
    EXPECT_EQ(run.count, counts[i]) << i;
    EXPECT_EQ(run.ack_request, ack_requests[i]) << i;
    EXPECT_EQ(run.psn, kFirstPsn + sent) << i;
    EXPECT_EQ(run.offset, sent * 1024) << i;
    sent += run.count;
  }
  EXPECT_EQ(sent, 6u);
  EXPECT_FALSE(can_send());
}

TEST_F(RequesterTest, RunEndsAtItsLimitAndMayBeSentInPart) {
  post(6 * 1024);
  send();
  EXPECT_EQ(requester_.next_run(pool_, 1).count, 1u);
  RequestRun run = requester_.next_run(pool_, 16);
  ASSERT_EQ(run.count, 2u);
  run.count = 1;
  requester_.sent(pool_, run, Time());
  EXPECT_EQ(requester_.next_run(pool_, 16).psn, kFirstPsn + 2);
  EXPECT_EQ(requester_.next_run(pool_, 16).count, 1u);
}

TEST_F(RequesterTest, RunOfRepeatedPacketsEndsWhereNewOnesBegin) {
  post(6 * 1024);
  for (int i = 0; i < 3; ++i) send();
  // PSNs 100 .. 102 were sent; 101 and 102 are lost. 103, a MIDDLE like them, is new.
  EXPECT_EQ(nak(kFirstPsn + 1), AckOutcome::kRewind);
  const RequestRun repeated = send_run(16);
  EXPECT_TRUE(repeated.retransmission);
  EXPECT_EQ(repeated.psn, kFirstPsn + 1);
  EXPECT_EQ(repeated.count, 2u);
  EXPECT_FALSE(send_run(16).retransmission);
}

// Four packets may go out between two AckReqs, and only the last packet of a whole message has one.
TEST_F(RequesterTest, WholeMessageIsOfThreePacketsAtLeastAndAsksOnceAtItsEnd) {
  post(2 * 1024);
  EXPECT_EQ(requester_.whole_message(pool_.options), 0u);
  send_all();
  post(4 * 1024);
  EXPECT_EQ(requester_.whole_message(pool_.options), 4u);
  send();
  EXPECT_EQ(requester_.whole_message(pool_.options), 0u);
  send_all();
  ack(kFirstPsn + 5);
  post(5 * 1024);
  EXPECT_EQ(requester_.whole_message(pool_.options), 0u);
}

TEST_F(RequesterTest, EmptyMessageIsOnePacket) {
  const uint32_t slot = post(0);
  const RequestRun packet = send();
  EXPECT_EQ(packet.opcode, Opcode::kWriteOnlyImmediate);
  EXPECT_EQ(packet.length, 0u);
  EXPECT_EQ(ack(kFirstPsn), AckOutcome::kProgress);
  EXPECT_EQ(finished(), slot);
}

TEST_F(RequesterTest, MessageIsCutAtTheMtu) {
  post(2 * 1024 + 1);
  const RequestRun first = send(), middle = send(), last = send();
  EXPECT_EQ(first.opcode, Opcode::kWriteFirst);
  EXPECT_EQ(middle.opcode, Opcode::kWriteMiddle);
  EXPECT_EQ(last.opcode, Opcode::kWriteLastImmediate);
  EXPECT_EQ(middle.offset, 1024u);
  EXPECT_EQ(middle.length, 1024u);
  EXPECT_EQ(last.offset, 2048u);
  EXPECT_EQ(last.length, 1u);
  EXPECT_EQ(last.psn, kFirstPsn + 2);
  EXPECT_FALSE(first.ack_request);
  EXPECT_TRUE(last.ack_request);
}

TEST_F(RequesterTest, AckRequestEveryFourthPacketAndWhenTheWindowCloses) {
  post(20 * 1024);
  // ack_every 4, window 8: packets 4 and 8, and 8 closes the window.
  std::vector<bool> requested;
  while (can_send()) requested.push_back(send().ack_request);
  EXPECT_EQ(requested, (std::vector<bool>{false, false, false, true, false, false, false, true}));

  // An ACK of the first packet opens the window by one packet, which closes it again.
  ack(kFirstPsn);
  EXPECT_TRUE(send().ack_request);
  EXPECT_FALSE(can_send());
}

TEST_F(RequesterTest, CumulativeAckCompletesAllMessagesItCovers) {
  const uint32_t a = post(1024), b = post(2048), c = post(2048);
  send_all();  // PSN +0 | +1 +2 | +3 +4
  // An ACK inside c completes a and b.
  EXPECT_EQ(ack(kFirstPsn + 3, Time(77)), AckOutcome::kProgress);
  EXPECT_EQ(finished(), a);
  EXPECT_EQ(finished(), b);
  EXPECT_EQ(finished(), OutboundMessage::kNone);
  EXPECT_EQ(pool_.messages[b].acked, Time(77));
  EXPECT_EQ(requester_.in_flight(), 1u);
  // The rest.
  ack(kFirstPsn + 4);
  EXPECT_EQ(finished(), c);
  EXPECT_TRUE(requester_.idle());
  EXPECT_EQ(requester_.deadline(), Time::never());
}

// One acknowledgement of all that is under way leaves the requester as it is after the same in parts, whatever
// happened to the message before.
TEST_F(RequesterTest, OneAckOfAWholeMessageLeavesWhatAcksOfItsPartsDo) {
  struct End {
    AckOutcome outcome;
    uint32_t in_flight, oldest, next, retries;
    uint8_t holds;
    Time deadline, acked;
    bool finished, repairs_again;
    bool operator==(const End&) const = default;
  };
  const auto end_after = [this](bool timed_out, bool in_parts) {
    pool_.finished = {};
    requester_ = Requester(kFirstPsn);
    const uint32_t slot = post(6 * 1024);
    send_all(Time(10));
    if (timed_out) {
      EXPECT_EQ(requester_.expire(pool_), AckOutcome::kRewind);
      EXPECT_EQ(nak(kFirstPsn), AckOutcome::kRewind);
      EXPECT_EQ(requester_.retries(), 2u);
      send_all(Time(20));
    }
    if (in_parts) ack(kFirstPsn + 2, Time(30));
    const AckOutcome outcome = ack(kFirstPsn + 5, Time(40));
    End end{.outcome = outcome,
            .in_flight = requester_.in_flight(),
            .oldest = requester_.oldest_unacknowledged(),
            .next = requester_.next_psn(),
            .retries = requester_.retries(),
            .holds = requester_.holds(),
            .deadline = requester_.deadline(),
            .acked = pool_.messages[slot].acked,
            .finished = finished() == slot,
            .repairs_again = false};
    // The loss of the next message is a new one.
    post(1024);
    send_all(Time(50));
    end.repairs_again = nak(kFirstPsn + 6) == AckOutcome::kRewind;
    return end;
  };
  for (const bool timed_out : {false, true}) {
    const End once = end_after(timed_out, false);
    EXPECT_EQ(once, end_after(timed_out, true)) << timed_out;
    const End expected{.outcome = AckOutcome::kProgress,
                       .in_flight = 0,
                       .oldest = kFirstPsn + 6,
                       .next = kFirstPsn + 6,
                       .retries = 0,
                       .holds = Requester::kNothingToSend,
                       .deadline = Time::never(),
                       .acked = Time(40),
                       .finished = true,
                       .repairs_again = true};
    EXPECT_EQ(once, expected) << timed_out;
  }
}

TEST_F(RequesterTest, RoundTripIsMeasuredByTheAckOfTheAskingPacket) {
  // Three packets, fewer than ack_every: the last one asks. Acknowledged at once, or behind a part.
  for (const bool in_parts : {false, true}) {
    const uint32_t first = requester_.next_psn();
    post(3 * 1024);
    send_all(Time(100));
    if (in_parts) ack(first, Time(150));
    const AckReception reception =
        requester_.acknowledge(pool_, Time(170), {.psn = first + 2, .msn = 0, .syndrome = 0x1F});
    EXPECT_EQ(reception.round_trip, Duration(70)) << in_parts;
  }
}

TEST_F(RequesterTest, MessageTimesAreThoseOfItsPackets) {
  const uint32_t slot = post(2048);
  send(Time(10));
  send(Time(20));
  ack(kFirstPsn + 1, Time(30));
  EXPECT_EQ(pool_.messages[slot].first_tx, Time(10));
  EXPECT_EQ(pool_.messages[slot].last_tx, Time(20));
  EXPECT_EQ(pool_.messages[slot].acked, Time(30));
}

TEST_F(RequesterTest, StaleAndGhostAcksChangeNothing) {
  post(4 * 1024);
  send_all();
  ack(kFirstPsn + 1);
  EXPECT_EQ(ack(kFirstPsn + 1), AckOutcome::kStale);
  EXPECT_EQ(ack(kFirstPsn - 50), AckOutcome::kStale);
  EXPECT_EQ(nak(kFirstPsn), AckOutcome::kStale);
  // PSNs never sent.
  EXPECT_EQ(ack(kFirstPsn + 4), AckOutcome::kGhost);
  EXPECT_EQ(nak(kFirstPsn + 4), AckOutcome::kGhost);
  EXPECT_EQ(acknowledge(kFirstPsn + 2, 0x64), AckOutcome::kGhost);
  EXPECT_EQ(requester_.in_flight(), 2u);
  EXPECT_EQ(finished(), OutboundMessage::kNone);
}

TEST_F(RequesterTest, SequenceNumbersWrap) {
  requester_ = Requester(0xFFFFFE);
  const uint32_t a = post(4 * 1024), b = post(100);
  EXPECT_EQ(send_all(), (std::vector<uint32_t>{0xFFFFFE, 0xFFFFFF, 0, 1, 2}));
  // A gap on the far side of the wrap.
  EXPECT_EQ(nak(0), AckOutcome::kRewind);
  EXPECT_EQ(send_all(), (std::vector<uint32_t>{0, 1, 2}));
  ack(2);
  EXPECT_EQ(finished(), a);
  EXPECT_EQ(finished(), b);
}

TEST_F(RequesterTest, NakAcknowledgesWhatIsBeforeItAndGoesBack) {
  const uint32_t a = post(1024), b = post(3 * 1024);
  send_all();  // +0 | +1 +2 +3
  EXPECT_EQ(nak(kFirstPsn + 2), AckOutcome::kRewind);
  EXPECT_EQ(finished(), a);
  // Inside b: MIDDLE, not FIRST with its RETH again.
  const RequestRun middle = send();
  EXPECT_EQ(middle.opcode, Opcode::kWriteMiddle);
  EXPECT_EQ(middle.psn, kFirstPsn + 2);
  EXPECT_EQ(middle.offset, 1024u);
  EXPECT_TRUE(middle.retransmission);
  const RequestRun last = send();
  EXPECT_EQ(last.opcode, Opcode::kWriteLastImmediate);
  EXPECT_TRUE(last.ack_request);
  ack(kFirstPsn + 3);
  EXPECT_EQ(finished(), b);
  EXPECT_EQ(pool_.messages[a].retransmissions, 0u);
  EXPECT_EQ(pool_.messages[b].retransmissions, 2u);
}

TEST_F(RequesterTest, NakOfTheFirstPacketRestartsWithReth) {
  post(2048);
  send_all();
  EXPECT_EQ(nak(kFirstPsn), AckOutcome::kRewind);
  EXPECT_EQ(send().opcode, Opcode::kWriteFirst);
}

TEST_F(RequesterTest, RepeatedNakOfTheSameRewindIsIgnored) {
  post(4 * 1024);
  send_all();
  nak(kFirstPsn + 1);
  send();
  EXPECT_EQ(nak(kFirstPsn + 1), AckOutcome::kStale);
  EXPECT_EQ(requester_.next_psn(), kFirstPsn + 2);
  EXPECT_EQ(requester_.retries(), 1u);
  // A later gap is another one.
  send_all();
  EXPECT_EQ(nak(kFirstPsn + 2), AckOutcome::kRewind);
}

TEST_F(RequesterTest, LateAckWhileSendingAgainSkipsWhatItCovers) {
  const uint32_t a = post(1024), b = post(1024), c = post(3 * 1024);
  send_all();  // +0 | +1 | +2 +3 +4
  requester_.expire(pool_);
  EXPECT_EQ(send().psn, kFirstPsn);
  // The ACK of what was sent before the time-out arrives.
  EXPECT_EQ(ack(kFirstPsn + 2), AckOutcome::kProgress);
  EXPECT_EQ(finished(), a);
  EXPECT_EQ(finished(), b);
  EXPECT_EQ(requester_.in_flight(), 0u);
  const RequestRun next = send();
  EXPECT_EQ(next.psn, kFirstPsn + 3);
  EXPECT_EQ(next.opcode, Opcode::kWriteMiddle);
  send();
  ack(kFirstPsn + 4);
  EXPECT_EQ(finished(), c);
}

TEST_F(RequesterTest, MessagesPostedWhileSendingAgainFollow) {
  post(1024);
  send();
  const uint32_t later = post(1024);
  nak(kFirstPsn);
  EXPECT_EQ(send_all(), (std::vector<uint32_t>{kFirstPsn, kFirstPsn + 1}));
  EXPECT_EQ(pool_.messages[later].retransmissions, 0u);
}

TEST_F(RequesterTest, DeadlineRunsFromTheAckRequestOrTheLastProgress) {
  post(8 * 1024);
  // Nothing was asked for yet.
  send(Time(1000));
  EXPECT_EQ(requester_.deadline(), Time::never());
  // The fourth packet asks, the eighth too: the clock runs from the first.
  for (int i = 1; i < 8; ++i) send(Time(1000 + i));
  EXPECT_EQ(requester_.deadline(), Time(1003) + kTimeout);
  // Progress restarts it while an answer is still due.
  ack(kFirstPsn + 3, Time(5000));
  EXPECT_EQ(requester_.deadline(), Time(5000) + kTimeout);
  // None is due.
  ack(kFirstPsn + 7, Time(6000));
  EXPECT_EQ(requester_.deadline(), Time::never());
}

TEST_F(RequesterTest, TimeOutGoesBackToTheOldestUnacknowledged) {
  post(4 * 1024);
  send_all();
  ack(kFirstPsn);
  EXPECT_EQ(requester_.expire(pool_), AckOutcome::kRewind);
  EXPECT_EQ(requester_.deadline(), Time::never());
  EXPECT_EQ(send_all(Time(9)), (std::vector<uint32_t>{kFirstPsn + 1, kFirstPsn + 2, kFirstPsn + 3}));
  EXPECT_EQ(requester_.deadline(), Time(9) + kTimeout);
  // A NAK after the time-out is about the repetition.
  EXPECT_EQ(nak(kFirstPsn + 1), AckOutcome::kRewind);
}

TEST_F(RequesterTest, RetriesRunOutWithoutProgress) {
  const uint32_t a = post(1024), b = post(1024);
  for (int retry = 0; retry < 2; ++retry) {
    send_all();
    EXPECT_EQ(requester_.expire(pool_), AckOutcome::kRewind);
  }
  send_all();
  EXPECT_EQ(requester_.expire(pool_), AckOutcome::kFailed);
  EXPECT_EQ(requester_.state(), Requester::State::kError);
  EXPECT_EQ(finished(), a);
  EXPECT_EQ(finished(), b);
  EXPECT_EQ(failure_of(a), Failure::kRetryExceeded);
  EXPECT_EQ(failure_of(b), Failure::kFlushed);
  EXPECT_FALSE(can_send());
  EXPECT_EQ(requester_.deadline(), Time::never());
  // What is posted later is flushed; what arrives later is dropped.
  const uint32_t c = post(1);
  EXPECT_EQ(finished(), c);
  EXPECT_EQ(failure_of(c), Failure::kFlushed);
  EXPECT_EQ(ack(kFirstPsn), AckOutcome::kStale);
}

TEST_F(RequesterTest, ProgressRestoresTheRetries) {
  post(4 * 1024);
  for (uint32_t round = 0; round < 4; ++round) {
    send_all();
    EXPECT_EQ(requester_.expire(pool_), AckOutcome::kRewind);
    send_all();
    EXPECT_EQ(requester_.expire(pool_), AckOutcome::kRewind);
    send_all();
    EXPECT_EQ(ack(kFirstPsn + round), AckOutcome::kProgress);
    EXPECT_EQ(requester_.retries(), 0u);
  }
}

TEST_F(RequesterTest, NaksWithoutProgressUseUpRetriesToo) {
  const uint32_t slot = post(2048);
  send_all();
  EXPECT_EQ(nak(kFirstPsn), AckOutcome::kRewind);
  send_all();
  EXPECT_EQ(requester_.expire(pool_), AckOutcome::kRewind);
  send_all();
  EXPECT_EQ(nak(kFirstPsn), AckOutcome::kFailed);
  EXPECT_EQ(failure_of(slot), Failure::kRetryExceeded);
}

TEST_F(RequesterTest, FatalNaksFailTheMessageTheyNameAndFlushTheRest) {
  struct Case {
    uint8_t syndrome;
    Failure failure;
  };
  for (const Case& c : {Case{0x61, Failure::kRemoteInvalid}, Case{0x62, Failure::kRemoteAccess},
                        Case{0x63, Failure::kRemoteOperational}}) {
    requester_ = Requester(kFirstPsn);
    const uint32_t good = post(1024), bad = post(1024), behind = post(1024);
    send_all();
    // The NAK's PSN is the second message's: the first has arrived.
    EXPECT_EQ(acknowledge(kFirstPsn + 1, c.syndrome), AckOutcome::kFailed);
    EXPECT_EQ(finished(), good);
    EXPECT_EQ(finished(), bad);
    EXPECT_EQ(finished(), behind);
    EXPECT_EQ(failure_of(good), Failure::kNone);
    EXPECT_EQ(failure_of(bad), c.failure);
    EXPECT_EQ(failure_of(behind), Failure::kFlushed);
  }
}

TEST_F(RequesterTest, NotConnectedMeansFlushed) {
  requester_ = Requester();
  const uint32_t slot = post(10);
  EXPECT_EQ(finished(), slot);
  EXPECT_EQ(failure_of(slot), Failure::kFlushed);
}

}  // namespace
}  // namespace rankwire
