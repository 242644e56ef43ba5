// RoceTransport under congestion control: pacing, windows, marks and the packets that tell of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/dataplane/roce_pair.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::Impairments;
using testing::RocePair;

constexpr uint32_t kMtu = 1024;

RoceOptions options_of(CongestionAlgorithm algorithm) {
  RoceOptions options;
  options.mtu = kMtu;
  options.profile.timeout_exponent = 8;
  options.congestion.algorithm = algorithm;
  options.congestion.notifies = true;
  return options;
}

RoceOptions static_rate(int64_t bits_per_second) {
  RoceOptions options = options_of(CongestionAlgorithm::kStatic);
  options.congestion.rate = Bandwidth(bits_per_second);
  options.profile.window = 1 << 20;
  return options;
}

/// Frames of a message of `packets` full packets, without FCS: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 make 58.
uint32_t frame_length(uint32_t packet, uint32_t packets) {
  const uint32_t reth = packet == 0 ? 16 : 0;
  const uint32_t immediate = packet + 1 == packets ? 4 : 0;
  return 58 + kMtu + reth + immediate;
}

// At 10 Mb/s a packet takes 0.9 ms, at 99.9 Gb/s 0.1 % more than on the line. A packet starts when those before it have
// had their time at that rate, to the picosecond; the first and the last differ on the line by 12 bytes.
TEST(RocePacing, EveryPacketStartsOnTime) {
  constexpr Bandwidth kLine{100'000'000'000};
  constexpr uint32_t kPackets = 400;
  for (const int64_t rate : {10'000'000LL, 1'000'000'000LL, 40'000'000'000LL, 99'900'000'000LL}) {
    RocePair pair(static_rate(rate), {.rate = kLine});
    pair.connect();
    pair.post(RocePair::message(0, 0, int64_t{kPackets} * kMtu));
    pair.run_until();
    ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
    const Event::Received times = pair.events(EventKind::kReceived)[0].received;
    Duration expected = serialization_time(line_bytes(frame_length(kPackets - 1, kPackets)), kLine) -
                        serialization_time(line_bytes(frame_length(0, kPackets)), kLine);
    Bytes paced;
    for (uint32_t i = 0; i + 1 < kPackets; ++i) {
      const Bytes on_line = line_bytes(frame_length(i, kPackets));
      expected += serialization_time(on_line, Bandwidth(rate));
      paced += on_line;
    }
    EXPECT_EQ(times.delivered - times.first_rx, expected) << rate;
    const double seconds = static_cast<double>((times.delivered - times.first_rx).ps) / 1e12;
    EXPECT_NEAR(static_cast<double>(paced.count) * 8 / seconds / static_cast<double>(rate), 1, 0.001);
    EXPECT_EQ(pair.a().counters().timeouts, 0u);
  }
}

// Two queue pairs of 40 Gb/s on a line of 100: they meet on it, but neither loses any of its rate.
TEST(RocePacing, QueuePairsKeepTheirRatesOnASharedLine) {
  constexpr Bandwidth kLine{100'000'000'000};
  constexpr uint32_t kPackets = 1000;
  RocePair pair(static_rate(40'000'000'000), {.rate = kLine}, 2);
  pair.connect();
  for (const uint32_t connection : {0, 1}) pair.post(RocePair::message(connection, 0, int64_t{kPackets} * kMtu));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 2u);
  // Of the middle packets: 1106 bytes.
  const Duration exact = serialization_time(line_bytes(58 + kMtu), Bandwidth(40'000'000'000)) * (kPackets - 1);
  for (const Event& event : received) {
    const Duration taken = event.received.delivered - event.received.first_rx;
    EXPECT_NEAR(static_cast<double>(taken.ps), static_cast<double>(exact.ps), 2 * 88'500);  // two frames on the line
  }
}

TEST(RocePacing, DescribeTellsTheRate) {
  RocePair pair(static_rate(10'000'000), {});
  pair.connect();
  pair.post(RocePair::message(0, 0, 100 * kMtu));
  pair.run_until(Time() + milliseconds(5));
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("paced at 0.010 Gb/s"));
}

TEST(RocePacing, CostsNothingWhereItIsNotUsed) {
  RoceOptions plain;
  RocePair without(plain, {});
  RocePair with(static_rate(1'000'000'000), {});
  EXPECT_LT(without.a().bytes_per_queue_pair(), with.a().bytes_per_queue_pair());
}

// Every data packet is marked, and there is no interval: as many CNPs as packets, counted alike at both ends.
TEST(RoceNotification, EveryMarkIsAnsweredAndHandled) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.congestion.notification.min_time_between_cnps = Duration();
  RocePair pair(options, {.mark_ppm = 1'000'000});
  pair.connect();
  pair.post(RocePair::message(0, 0, 100 * kMtu));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  EXPECT_EQ(pair.events(EventKind::kReceived)[0].received.marks, 100u);
  EXPECT_EQ(RocePair::detail(pair.b(), "np_ecn_marked_roce_packets"), 100u);
  EXPECT_EQ(RocePair::detail(pair.b(), "np_cnp_sent"), 100u);
  EXPECT_EQ(pair.b().counters().cnp_tx, 100u);
  EXPECT_EQ(pair.a().counters().cnp_rx, 100u);
  EXPECT_EQ(RocePair::detail(pair.a(), "rp_cnp_handled"), 100u);
  EXPECT_EQ(RocePair::detail(pair.a(), "rp_cnp_ignored"), 0u);
  // Marked acknowledgements and CNPs are answered by none.
  EXPECT_GT(pair.a().counters().ecn_ce_rx, 100u);
  EXPECT_EQ(RocePair::detail(pair.a(), "np_cnp_sent"), 0u);
  EXPECT_EQ(pair.b().counters().packets_tx, pair.a().counters().packets_rx);
}

TEST(RoceNotification, PacketIsAsMarkingsAndProfileSay) {
  RoceOptions options = options_of(CongestionAlgorithm::kNone);
  options.markings.cnp = {.dscp = 48, .ecn = Ecn::kNotCapable, .priority = 6};
  options.profile.notification_hop_limit = 33;
  RocePair pair(options, {.mark_ppm = 1'000'000});
  pair.connect();
  pair.port_b().capture();
  pair.post(RocePair::message(0, 0, 10));
  pair.run_until();
  ASSERT_EQ(pair.port_b().sent().size(), 2u);
  // Before the acknowledgement.
  auto bytes = pair.port_b().sent()[0];
  const Frame frame = testing::frame_over(bytes);
  const ParsedPacket packet = parse(frame);
  ASSERT_EQ(packet.opcode, Opcode::kCongestionNotification);
  EXPECT_TRUE(icrc_matches(frame, packet));
  EXPECT_EQ(bytes.size(), 74u);  // Ethernet 14, IPv4 20, UDP 8, BTH 12, 16 reserved, ICRC 4
  EXPECT_EQ(packet.dscp, 48);
  EXPECT_EQ(packet.ecn, Ecn::kNotCapable);
  EXPECT_EQ(reinterpret_cast<const Ipv4Header*>(packet.head + packet.ip_offset)->time_to_live, 33);
  EXPECT_EQ(packet.destination_qp, pair.a().flows()[0].source_qp);
  // Without algorithm nobody heeds it.
  EXPECT_EQ(RocePair::detail(pair.a(), "rp_cnp_ignored"), 1u);
  EXPECT_EQ(pair.a().counters().cnp_rx, 1u);
}

// 1106 bytes at 100 Gb/s take 88.48 ns, 1000 packets 88.48 us. A queue pair's CNPs are 4 us apart, and until its next
// packet, one of two: 4.18 us at most. So there are 22 or 23 of each group.
TEST(RoceNotification, ScopeSaysWhoSharesTheInterval) {
  struct Case {
    NotificationScope scope;
    uint32_t connections;
    uint64_t least, most;
  };
  for (const Case& c : {Case{NotificationScope::kQueuePair, 1, 22, 23}, Case{NotificationScope::kQueuePair, 2, 44, 46},
                        Case{NotificationScope::kAddressPair, 2, 22, 23}, Case{NotificationScope::kPort, 2, 22, 23}}) {
    RoceOptions options = options_of(CongestionAlgorithm::kNone);
    options.turn = 1;
    options.profile.window = 1 << 16;
    options.congestion.notification.scope = c.scope;
    RocePair pair(options, {.mark_ppm = 1'000'000}, c.connections);
    pair.connect();
    for (uint32_t i = 0; i < c.connections; ++i)
      pair.post(RocePair::message(i, 0, int64_t{1000} * kMtu / c.connections));
    pair.run_until();
    const uint64_t sent = RocePair::detail(pair.b(), "np_cnp_sent");
    EXPECT_GE(sent, c.least) << static_cast<int>(c.scope) << " " << c.connections;
    EXPECT_LE(sent, c.most) << static_cast<int>(c.scope) << " " << c.connections;
    EXPECT_EQ(RocePair::detail(pair.b(), "np_ecn_marked_roce_packets"), 1000u);
  }
}

TEST(RoceNotification, OffAnswersNoMark) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.congestion.notifies = false;
  RocePair pair(options, {.mark_ppm = 1'000'000});
  pair.connect();
  pair.post(RocePair::message(0, 0, 100 * kMtu));
  pair.run_until();
  EXPECT_EQ(pair.b().counters().ecn_ce_rx, 100u);
  EXPECT_EQ(pair.b().counters().cnp_tx, 0u);
}

// A rate is set by the first CNP, and the packets that follow keep to it: alpha is 0, so nothing else changes it.
TEST(RoceDcqcn, NotifiedQueuePairKeepsToItsRate) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.profile.window = 1 << 20;
  options.congestion.dcqcn.initial_alpha_value = 0;
  options.congestion.dcqcn.dce_tcp_g = 1024;
  options.congestion.dcqcn.time_reset = seconds(10);
  options.congestion.dcqcn.byte_reset = Bytes(0);
  options.congestion.dcqcn.rate_to_set_on_first_cnp = Bandwidth(5'000'000'000);
  RocePair pair(options, {.mark_ppm = 1'000'000}, 2);
  pair.connect();
  constexpr uint32_t kPackets = 1000;
  pair.post(RocePair::message(0, 0, int64_t{kPackets} * kMtu));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 1u);
  // 1106 bytes take 1.7696 us at 5 Gb/s. In the 2 us before the first CNP had arrived 30 packets may have left at 100.
  const double us = static_cast<double>((received[0].received.delivered - received[0].received.first_rx).ps) / 1e6;
  EXPECT_NEAR(us, kPackets * 1.7696, 30 * 1.7696);
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("paced at 5.000 Gb/s"));
  EXPECT_THAT(pair.a().describe(ConnectionId(1)), ::testing::Not(HasSubstr("paced")));
}

// All marked: alpha stays 1, and the window is halved every round until it holds one packet.
TEST(RoceDctcp, MarksCloseTheWindow) {
  RoceOptions options = options_of(CongestionAlgorithm::kDctcp);
  options.congestion.notification.min_time_between_cnps = Duration();
  RocePair pair(options, {.mark_ppm = 1'000'000});
  pair.connect();
  pair.post(RocePair::message(0, 0, 1000 * kMtu));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("congestion window 1024 bytes"));
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
}

// A round trip takes at least 2 x 0.5 us: with a target below that the window closes below one packet, and pacing goes
// on.
TEST(RoceSwift, DelayBelowThePossibleIsPaced) {
  RoceOptions options = options_of(CongestionAlgorithm::kSwift);
  options.congestion.swift.base_target = nanoseconds(900);
  options.congestion.swift.fs_range = Duration();
  RocePair pair(options, {});
  pair.connect();
  pair.post(RocePair::message(0, 0, 300 * kMtu));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("paced at"));
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
}

// Nothing is held back for ever, whatever is lost.
TEST(RoceCongestion, EverythingArrivesInSpiteOfLosses) {
  for (const CongestionAlgorithm algorithm : {CongestionAlgorithm::kStatic, CongestionAlgorithm::kDcqcn,
                                              CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift}) {
    for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm}) {
      RoceOptions options = options_of(algorithm);
      options.verb = verb;
      options.payload = PayloadMode::kChecking;
      options.queue_pairs = 2;
      options.profile.timeout_exponent = 4;
      options.congestion.rate = Bandwidth(7'000'000'000);
      options.congestion.burst = 3;
      options.congestion.dcqcn.min_rate = Bandwidth(1'000'000'000);
      options.congestion.swift.base_target = microseconds(2);
      RocePair pair(options, {.loss_ppm = 5'000, .reorder_ppm = 1'000, .mark_ppm = 100'000});
      pair.connect();
      for (uint32_t i = 0; i < 60; ++i)
        for (const uint32_t connection : {0, 1}) pair.post(RocePair::message(connection, i, 20'000 + i));
      pair.run_until();
      EXPECT_EQ(pair.events(EventKind::kReceived).size(), 120u) << static_cast<int>(algorithm);
      EXPECT_EQ(pair.events(EventKind::kSent).size(), 120u) << static_cast<int>(algorithm);
      EXPECT_EQ(pair.a().counters().payload_errors + pair.b().counters().payload_errors, 0u);
    }
  }
}

TEST(RoceCongestion, ReadsCannotBeHeldBack) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.verb = DataVerb::kRead;
  try {
    RocePair pair(options, {});
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("READ responses"));
  }
}

}  // namespace
}  // namespace rankwire
