#include "dataplane/roce/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "dataplane/protocol/queue_pair_numbers.h"
#include "dataplane/roce/transmit_lane.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::RocePair;

// At 100 Gb/s a byte takes 80 ps. A data packet occupies payload + pad + 82 bytes of line, with RETH 16 more, with
// immediate 4 more; an ACK occupies 86 (62 + FCS 4 + preamble 8 + gap 12).
constexpr Duration kByteTime(80);
constexpr Duration kLinkLatency = nanoseconds(500);
constexpr Duration kAckTime = kByteTime * 86;

RoceOptions checking_options() {
  RoceOptions options;
  options.mtu = 1024;
  options.profile.timeout_exponent = 8;  // 1.048576 ms
  options.payload = PayloadMode::kChecking;
  return options;
}

constexpr Duration only_time(int64_t bytes) {
  return kByteTime * (bytes + 102);
}

TEST(RoceTransport, OnePacketMessageTakesItsClosedForm) {
  RocePair pair(checking_options(), {});
  pair.connect();
  const Message message = RocePair::message(0, 5, 1000);
  pair.post(message);
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].index, 5u);
  EXPECT_EQ(received[0].bytes, Bytes(1000));
  EXPECT_FALSE(received[0].at_source);
  EXPECT_EQ(received[0].received.first_rx, Time() + only_time(1000) + kLinkLatency);
  EXPECT_EQ(received[0].received.delivered, received[0].received.first_rx);
  EXPECT_EQ(received[0].received.payload_key, payload_key(message.id));
  const auto sent = pair.events(EventKind::kSent);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].sent.posted, Time());
  EXPECT_EQ(sent[0].sent.first_tx, Time());
  EXPECT_EQ(sent[0].sent.last_tx, Time());
  EXPECT_EQ(sent[0].sent.acked, received[0].received.delivered + kAckTime + kLinkLatency);
  EXPECT_EQ(sent[0].retransmissions, 0u);
}

TEST(RoceTransport, LongMessageTakesItsClosedForm) {
  RocePair pair(checking_options(), {});
  pair.connect();
  // 10 packets: the line carries 10 x 82 + 16 + 4 + 10000 bytes, and the window of 64 never closes.
  pair.post(RocePair::message(0, 0, 10'000));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].received.first_rx, Time() + kByteTime * (82 + 16 + 1024) + kLinkLatency);
  EXPECT_EQ(received[0].received.delivered, Time() + kByteTime * (820 + 20 + 10'000) + kLinkLatency);
  const TransportCounters counters = pair.a().counters();
  EXPECT_EQ(counters.data_packets_tx, 10u);
  EXPECT_EQ(counters.packets_rx, 1u);  // one ACK
}

TEST(RoceTransport, WindowLimitsThroughputToItsClosedForm) {
  RoceOptions options = checking_options();
  options.profile.window = 4;
  testing::Impairments slow;
  slow.latency = microseconds(10);
  RocePair pair(options, slow);
  pair.connect();
  // Packet k starts when packet k - 4 is acknowledged: one data time + one ACK time + two latencies after its start.
  for (uint32_t i = 0; i < 40; ++i) pair.post(RocePair::message(0, i, 1024));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 40u);
  const Duration data = only_time(1024), round = data + kAckTime + slow.latency * 2;
  EXPECT_EQ(received[39].received.delivered, Time() + round * 9 + data * 4 + slow.latency);
}

TEST(RoceTransport, EveryFrameStartsInItsSlot) {
  RocePair pair(checking_options(), {}, 3);
  pair.connect();
  const uint32_t kMessages = 3 * 2 * RoceOptions().turn;
  for (uint32_t i = 0; i < kMessages; ++i) pair.post(RocePair::message(i % 3, i / 3, 500));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), kMessages);
  for (uint32_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(received[i].received.delivered, Time() + only_time(500) * (i + 1) + kLinkLatency) << i;
    EXPECT_EQ(received[i].connection, ConnectionId(i / RoceOptions().turn % 3)) << i;
  }
  EXPECT_EQ(pair.a().counters().stalls, 0u);
}

TEST(RoceTransport, AcknowledgementsGoBeforeData) {
  RocePair pair(checking_options(), {});
  pair.connect();
  for (uint32_t i = 0; i < 50; ++i) pair.post(RocePair::message(1, i, 1024));
  pair.post(RocePair::message(0, 0, 1024));
  pair.run_until();
  // The ACK waits for the frame of b that is on the line when the message arrives, and for nothing else.
  const auto sent = pair.events(EventKind::kSent);
  const auto found = std::ranges::find(sent, ConnectionId(0), &Event::connection);
  ASSERT_NE(found, sent.end());
  const Time delivered = Time() + only_time(1024) + kLinkLatency;
  EXPECT_LE(found->sent.acked, delivered + only_time(1024) + kAckTime + kLinkLatency);
}

TEST(RoceTransport, LateLoopCatchesUpWithinBoundsAndCountsTheRest) {
  RoceOptions options = checking_options();
  options.profile.window = 256;
  RocePair pair(options, {});
  pair.connect();
  for (uint32_t i = 0; i < 256; ++i) pair.post(RocePair::message(0, i, 1024));
  Event events[8];
  // Nobody polls for 250 us; the first slot was at 0, where the frame started in time.
  pair.a().poll(Time(), events);
  const Time late = Time() + microseconds(250);
  pair.a().poll(late, events);
  const TransportCounters counters = pair.a().counters();
  EXPECT_EQ(counters.stalls, 1u);
  EXPECT_EQ(counters.worst_stall, microseconds(250) - only_time(1024));
  EXPECT_EQ(counters.slipped, counters.worst_stall - microseconds(100));
  // A burst went out, all within the 100 us that may be made good: 128 x 90.08 ns.
  EXPECT_EQ(counters.data_packets_tx, 1u + TransmitLane::kBurst);
  // A port without frames to send is not late.
  RocePair idle(checking_options(), {});
  idle.connect();
  idle.a().poll(Time(), events);
  idle.set_now(late);
  idle.post(RocePair::message(0, 0, 10));
  idle.a().poll(late, events);
  EXPECT_EQ(idle.a().counters().stalls, 0u);
}

TEST(RoceTransport, BurstEndsWithTheHandfulThatThePortRefuses) {
  RoceOptions options = checking_options();
  options.profile.window = 256;
  RocePair pair(options, {});
  pair.connect();
  for (uint32_t i = 0; i < 256; ++i) pair.post(RocePair::message(0, i, 1024));
  Event events[8];
  // The first frame in its slot; then of a handful half is taken.
  pair.port_a().refuse_every(2);
  pair.a().poll(Time(), events);
  pair.set_now(Time() + microseconds(50));
  pair.a().poll(Time() + microseconds(50), events);
  EXPECT_EQ(pair.a().counters().data_packets_tx, 1u + TransmitLane::kHandful);
  pair.port_a().refuse_every(0);
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), 256u);
  EXPECT_EQ(pair.a().counters().retransmitted, 0u);
  EXPECT_EQ(pair.b().counters().out_of_sequence, 0u);
}

TEST(RoceTransport, LostTailIsRepairedByTheTimeOut) {
  RocePair pair(checking_options(), {});
  pair.connect();
  pair.port_b().lose(0);
  pair.post(RocePair::message(0, 0, 100));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].received.delivered, Time() + ack_timeout(8) + only_time(100) + kLinkLatency);
  EXPECT_EQ(pair.events(EventKind::kSent)[0].retransmissions, 1u);
  EXPECT_EQ(pair.a().counters().timeouts, 1u);
  EXPECT_EQ(pair.a().flows()[0].timeouts, 1u);
  EXPECT_EQ(pair.a().flows()[0].source_end, (RdmaCounters{.local_ack_timeout_err = 1}));
  EXPECT_EQ(pair.b().flows()[0].destination_end, RdmaCounters());
}

TEST(RoceTransport, StandstillOfTheLoopIsNoTimeOut) {
  RoceOptions options = checking_options();
  options.standstill = microseconds(500);
  RocePair pair(options, {});
  pair.connect();
  Event events[8];
  pair.post(RocePair::message(0, 0, 100));
  pair.a().poll(Time(), events);
  // Nobody polls for 10 time-outs: b has not even seen the packet, so no acknowledgement can be there.
  pair.set_now(Time() + ack_timeout(8) * 10);
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kSent).size(), 1u);
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
}

TEST(RoceTransport, LoopThatAlwaysStandsStillStillTimesOut) {
  RoceOptions options = checking_options();
  options.standstill = microseconds(500);
  RocePair pair(options, {});
  pair.connect();
  pair.port_b().lose(0);
  Event events[8];
  pair.post(RocePair::message(0, 0, 100));
  // Every turn takes 600 us. The eighth in a row, at 4.8 ms, is the last that starts the time-out again: it fires when
  // 5.85 ms have passed.
  for (int turn = 0; turn <= 9; ++turn) pair.a().poll(Time() + microseconds(600) * turn, events);
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
  pair.a().poll(Time() + microseconds(600) * 10, events);
  EXPECT_EQ(pair.a().counters().timeouts, 1u);
}

TEST(RoceTransport, LostPacketIsRepairedByOneNak) {
  RocePair pair(checking_options(), {});
  pair.connect();
  pair.port_b().lose(1);
  pair.post(RocePair::message(0, 0, 4 * 1024));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  // Packets 2 and 3 were sent in vain; 1, 2 and 3 are sent again.
  EXPECT_EQ(pair.a().counters().retransmitted, 3u);
  EXPECT_EQ(pair.a().counters().naks, 1u);
  EXPECT_EQ(pair.b().counters().naks_tx, 1u);
  EXPECT_EQ(pair.b().counters().out_of_sequence, 2u);
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
  EXPECT_EQ(pair.a().flows()[0].source_end, (RdmaCounters{.packet_seq_err = 1}));
  EXPECT_EQ(pair.b().flows()[0].destination_end, (RdmaCounters{.out_of_sequence = 2}));
  // One NAK, and an ACK of the last packet.
  EXPECT_EQ(pair.b().flows()[0].answers, (AnswerCounters{.acks_tx = 1, .naks_tx = 1}));
  EXPECT_EQ(pair.a().flows()[0].answers, (AnswerCounters{.acks_rx = 1}));
  EXPECT_EQ(pair.a().ports()[0].rdma, pair.a().flows()[0].source_end);
  EXPECT_EQ(pair.b().ports()[0].rdma, pair.b().flows()[0].destination_end);
}

TEST(RoceTransport, LostAckIsRepairedByADuplicate) {
  RocePair pair(checking_options(), {});
  pair.connect();
  pair.port_a().lose(0);
  pair.post(RocePair::message(0, 0, 100));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  EXPECT_EQ(pair.events(EventKind::kSent).size(), 1u);
  EXPECT_EQ(pair.b().counters().duplicate_packets, 1u);
  EXPECT_EQ(pair.b().flows()[0].destination_end, (RdmaCounters{.duplicate_request = 1}));
}

TEST(RoceTransport, DeadPathFailsAfterAllRetries) {
  RoceOptions options = checking_options();
  options.profile.retry_count = 2;
  testing::Impairments dead;
  dead.loss_ppm = 1'000'000;
  RocePair pair(options, dead);
  pair.connect();
  pair.post(RocePair::message(0, 0, 100));
  pair.post(RocePair::message(0, 1, 100));
  pair.run_until();
  // Sent at 0, T and 2 T; given up at 3 T.
  EXPECT_EQ(pair.now(), Time() + ack_timeout(8) * 3);
  const auto failed = pair.events(EventKind::kFailed);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].failure, Failure::kRetryExceeded);
  EXPECT_EQ(failed[0].sent.last_tx, Time() + ack_timeout(8) * 2);
  EXPECT_EQ(failed[1].failure, Failure::kFlushed);
  EXPECT_EQ(pair.a().counters().messages_failed, 2u);
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("error state"));
}

TEST(RoceTransport, WrongKeyFailsTheMessage) {
  RocePair pair(checking_options(), {});
  for (EndPoint& end : pair.ends()) ++end.rkey;
  pair.connect();
  pair.post(RocePair::message(0, 0, 100));
  pair.run_until();
  const auto failed = pair.events(EventKind::kFailed);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].failure, Failure::kRemoteAccess);
  EXPECT_EQ(RocePair::detail(pair.b(), "refused"), 1u);
}

TEST(RoceTransport, PortThatRefusesFramesLosesNone) {
  for (const uint32_t n : {2, 3, 7}) {
    RocePair pair(checking_options(), {});
    pair.connect();
    pair.port_a().refuse_every(n);
    pair.port_b().refuse_every(n);
    for (uint32_t i = 0; i < 50; ++i) pair.post(RocePair::message(0, i, 3000));
    pair.run_until();
    EXPECT_EQ(pair.events(EventKind::kReceived).size(), 50u);
    EXPECT_EQ(pair.events(EventKind::kSent).size(), 50u);
    EXPECT_EQ(pair.a().counters().retransmitted, 0u);
    EXPECT_EQ(pair.a().counters().stalls, 0u);
  }
}

TEST(RoceTransport, CongestionMarksAreCountedByMessage) {
  testing::Impairments marking;
  marking.mark_ppm = 1'000'000;
  RocePair pair(checking_options(), marking);
  pair.connect();
  pair.post(RocePair::message(0, 0, 5 * 1024));
  pair.post(RocePair::message(0, 1, 1));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].received.marks, 5u);
  EXPECT_EQ(received[1].received.marks, 1u);
  EXPECT_EQ(pair.b().counters().ecn_ce_rx, 6u);
  EXPECT_EQ(pair.b().flows()[0].marks, 6u);
}

TEST(RoceTransport, PatternPayloadTravelsByReference) {
  RoceOptions options = checking_options();
  options.payload = PayloadMode::kPattern;
  RocePair pair(options, {});
  pair.connect();
  for (uint32_t i = 0; i < 20; ++i) pair.post(RocePair::message(0, i, i * 777));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 20u);
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(received[i].bytes, Bytes(i * 777));
    EXPECT_EQ(received[i].received.payload_key, 0u);
  }
  EXPECT_EQ(pair.b().counters().icrc_errors, 0u);
}

TEST(RoceTransport, PostRefusesWhenThePoolIsEmpty) {
  RocePair pair(checking_options(), {});
  pair.connect();
  std::vector<Message> messages;
  for (uint32_t i = 0; i < RocePair::kMessagesInFlight + 3; ++i) messages.push_back(RocePair::message(0, i, 8));
  EXPECT_EQ(pair.a().post(Time(), messages), RocePair::kMessagesInFlight);
  EXPECT_EQ(pair.a().counters().post_refused, 3u);
  pair.run_until();
  EXPECT_EQ(pair.a().post(pair.now(), std::span(messages).last(3)), 3u);
}

TEST(RoceTransport, AnnouncementsAreCountedApart) {
  RocePair pair(checking_options(), {});
  pair.connect();
  EXPECT_EQ(RocePair::detail(pair.a(), "arp_rx"), 1u);
  EXPECT_EQ(RocePair::detail(pair.b(), "arp_rx"), 1u);
  EXPECT_EQ(RocePair::detail(pair.b(), "announcements_tx"), 1u);
  EXPECT_EQ(pair.b().counters().malformed, 0u);
  EXPECT_EQ(pair.b().counters().packets_rx, 0u);
}

TEST(RoceTransport, ConnectReportsWhatIsMissingOrWrong) {
  RocePair pair(checking_options(), {});
  auto ends = pair.ends();
  // a's source end of connection 0 needs b's destination end of it, a's destination end of 1 needs b's source end.
  std::erase_if(ends, [](const EndPoint& e) { return e.connection == ConnectionId(0) && !e.at_source; });
  for (EndPoint& end : ends)
    if (end.connection == ConnectionId(1) && end.at_source) end.ip.bytes[15] += 9;
  const auto failures = pair.a().connect(ends);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].connection, ConnectionId(0));
  EXPECT_THAT(failures[0].reason, HasSubstr("not known"));
  EXPECT_EQ(failures[1].connection, ConnectionId(1));
  EXPECT_THAT(failures[1].reason, HasSubstr("198.18.0.11"));
}

// Two queue pairs for each of two connections, whose sources come first: a's 0x10 and 0x11, b's 0x12 and 0x13; then
// their destinations, b's and a's. That each transport has half of them changes nothing.
TEST(RoceTransport, QueuePairsAreNumberedAsIfAllWereHereWithSeededFirstPsns) {
  RocePair one(checking_options(), {}, 2), same(checking_options(), {}, 2);
  RoceOptions options = checking_options();
  options.seed = 2;
  RocePair other(options, {}, 2);
  constexpr uint32_t kNumbers[] = {0x10, 0x11, 0x16, 0x17, 0x12, 0x13, 0x14, 0x15};
  ASSERT_EQ(one.ends().size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(one.ends()[i].queue_pair, kNumbers[i]);
    EXPECT_EQ(one.ends()[i].psn, same.ends()[i].psn);
    EXPECT_NE(one.ends()[i].psn, other.ends()[i].psn);
    EXPECT_LE(one.ends()[i].psn, kPsnMask);
  }
}

TEST(RoceTransport, DescribesAConnectionThatStandsStill) {
  testing::Impairments dead;
  dead.loss_ppm = 1'000'000;
  RocePair pair(checking_options(), dead);
  pair.connect();
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("source QP 0x10"));
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("idle"));
  pair.post(RocePair::message(0, 0, 2048));
  // The time-out at 1.048576 ms is the first of seven.
  pair.run_until(Time() + microseconds(1500));
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("unacked 2 window 64 retries 1/7 waiting for ACK of psn"));
  EXPECT_THAT(pair.b().describe(ConnectionId(0)), HasSubstr("0 messages delivered"));
}

TEST(RoceTransport, OptionsOutOfRangeAreInputErrors) {
  const auto fails = [](auto change) {
    RoceOptions options = checking_options();
    change(options);
    EXPECT_THROW(RocePair(options, {}), Error);
  };
  fails([](RoceOptions& o) { o.mtu = 1500; });
  fails([](RoceOptions& o) { o.mtu = 8192; });
  fails([](RoceOptions& o) { o.profile.window = 0; });
  fails([](RoceOptions& o) { o.profile.ack_every = 0; });
  fails([](RoceOptions& o) { o.profile.timeout_exponent = 32; });
  fails([](RoceOptions& o) { o.profile.retry_count = 8; });
  fails([](RoceOptions& o) { o.markings.ack.dscp = 64; });
  fails([](RoceOptions& o) { o.profile.hop_limit = 0; });
}

}  // namespace
}  // namespace rankwire
