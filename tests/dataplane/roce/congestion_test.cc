// RoceTransport under congestion control: pacing, windows, marks and the packets that tell of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/transport_counters.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::pair_plan;
using testing::RocePair;

constexpr uint32_t kPacedMtu = 1024;

RoceOptions options_of(CongestionAlgorithm algorithm) {
  RoceOptions options;
  options.mtu = kPacedMtu;
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
  return 58 + kPacedMtu + reth + immediate;
}

/// From far below a packet in a time-out, 0.9 ms at 10 Mb/s, to the line's.
constexpr int64_t kRates[] = {10'000'000,     100'000'000,    1'000'000'000,  10'000'000'000,
                              40'000'000'000, 99'900'000'000, 100'000'000'000};

// A packet starts when those before it have had their time at the rate, to the picosecond; the first and the last
// differ on the line by 12 bytes.
TEST(RocePacing, EveryPacketStartsOnTime) {
  constexpr Bandwidth kLine{100'000'000'000};
  constexpr uint32_t kPackets = 400;
  for (const int64_t rate : kRates) {
    RocePair pair(static_rate(rate), {.rate = kLine});
    pair.connect();
    pair.post(RocePair::message(0, 0, int64_t{kPackets} * kPacedMtu));
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

// A READ's responses are the source's to send: at its rate, to the picosecond. The first and the last have an AETH.
TEST(RocePacing, EveryResponseStartsOnTime) {
  constexpr Bandwidth kLine{100'000'000'000};
  constexpr uint32_t kPackets = 400;
  for (const int64_t rate : kRates) {
    RoceOptions options = static_rate(rate);
    options.verb = DataVerb::kRead;
    RocePair pair(options, {.rate = kLine});
    pair.connect();
    pair.post(RocePair::message(0, 0, int64_t{kPackets} * kPacedMtu));
    pair.run_until();
    ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
    ASSERT_EQ(pair.events(EventKind::kSent).size(), 1u);
    const Event::Received times = pair.events(EventKind::kReceived)[0].received;
    const Duration middle = serialization_time(line_bytes(58 + kPacedMtu), Bandwidth(rate));
    const Duration first = serialization_time(line_bytes(58 + kPacedMtu + 4), Bandwidth(rate));
    EXPECT_EQ(times.delivered - times.first_rx, first + middle * (kPackets - 2)) << rate;
    EXPECT_EQ(pair.b().counters().timeouts, 0u);
  }
}

// Two queue pairs of 40 Gb/s on a line of 100: they meet on it, but neither loses any of its rate.
TEST(RocePacing, QueuePairsKeepTheirRatesOnASharedLine) {
  constexpr Bandwidth kLine{100'000'000'000};
  constexpr uint32_t kPackets = 1000;
  RocePair pair(static_rate(40'000'000'000), {.rate = kLine}, 2);
  pair.connect();
  for (const uint32_t connection : {0, 1}) pair.post(RocePair::message(connection, 0, int64_t{kPackets} * kPacedMtu));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 2u);
  // Of the middle packets: 1106 bytes.
  const Duration exact = serialization_time(line_bytes(58 + kPacedMtu), Bandwidth(40'000'000'000)) * (kPackets - 1);
  for (const Event& event : received) {
    const Duration taken = event.received.delivered - event.received.first_rx;
    EXPECT_NEAR(static_cast<double>(taken.ps), static_cast<double>(exact.ps), 2 * 88'500);  // two frames on the line
  }
}

TEST(RocePacing, DescribeTellsTheRate) {
  RocePair pair(static_rate(10'000'000), {});
  pair.connect();
  pair.post(RocePair::message(0, 0, 100 * kPacedMtu));
  pair.run_until(Time() + milliseconds(5));
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("paced at 0.010 Gb/s"));
}

TEST(RocePacing, CostsNothingWhereItIsNotUsed) {
  RoceOptions plain;
  RocePair without(plain, {});
  RocePair with(static_rate(1'000'000'000), {});
  EXPECT_LT(without.a().queue_pair_bytes(), with.a().queue_pair_bytes());
}

// Every data packet is marked, and there is no interval: as many CNPs as packets, counted alike at both ends.
TEST(RoceNotification, EveryMarkIsAnsweredAndHandled) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.congestion.notification.min_time_between_cnps = Duration();
  RocePair pair(options, {.mark_ppm = 1'000'000});
  pair.connect();
  pair.post(RocePair::message(0, 0, 100 * kPacedMtu));
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

// With READ the destination receives 100 responses and the word that the data is ready, which are answered; the source
// the word that they have arrived, and a request, which is no data.
TEST(RoceNotification, MarksOfResponsesGoToTheirSender) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.congestion.notification.min_time_between_cnps = Duration();
  options.verb = DataVerb::kRead;
  RocePair pair(options, {.mark_ppm = 1'000'000});
  pair.connect();
  pair.post(RocePair::message(0, 0, 100 * kPacedMtu));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kSent).size(), 1u);
  const RdmaCounters a = pair.a().ports()[0].rdma, b = pair.b().ports()[0].rdma;
  EXPECT_EQ(b.np_ecn_marked_roce_packets, 101u);
  EXPECT_EQ(b.np_cnp_sent, 101u);
  EXPECT_EQ(a.rp_cnp_handled, 101u);
  EXPECT_EQ(a.np_ecn_marked_roce_packets, 1u);
  EXPECT_EQ(a.np_cnp_sent, 1u);
  EXPECT_EQ(b.rp_cnp_handled, 1u);
  EXPECT_EQ(pair.a().flows()[0].source_end, a);
  EXPECT_EQ(pair.b().flows()[0].destination_end, b);
}

// Two connections each way: what queue pairs count is what their port counts, and what the whole transport does.
TEST(RoceNotification, QueuePairsAddUpToTheirPort) {
  RocePair pair(options_of(CongestionAlgorithm::kDcqcn), {.mark_ppm = 300'000}, 2);
  pair.connect();
  for (uint32_t connection = 0; connection < 4; ++connection)
    pair.post(RocePair::message(connection, 0, 100 * (connection + 1) * kPacedMtu));
  pair.run_until();
  for (RoceTransport* transport : {&pair.a(), &pair.b()}) {
    RdmaCounters sum;
    for (const FlowCounters& flow : transport->flows()) sum += flow.source_end + flow.destination_end;
    EXPECT_EQ(sum, transport->ports()[0].rdma);
    EXPECT_GT(sum.np_ecn_marked_roce_packets, sum.np_cnp_sent);
    EXPECT_EQ(sum.np_cnp_sent, RocePair::detail(*transport, "np_cnp_sent"));
    EXPECT_EQ(sum.np_ecn_marked_roce_packets, RocePair::detail(*transport, "np_ecn_marked_roce_packets"));
    EXPECT_EQ(sum.rp_cnp_handled, RocePair::detail(*transport, "rp_cnp_handled"));
    EXPECT_EQ(sum.rp_cnp_ignored, 0u);
  }
  EXPECT_EQ(pair.a().ports()[0].rdma.np_cnp_sent, pair.b().ports()[0].rdma.rp_cnp_handled);
  EXPECT_EQ(pair.b().ports()[0].rdma.np_cnp_sent, pair.a().ports()[0].rdma.rp_cnp_handled);
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
      pair.post(RocePair::message(i, 0, int64_t{1000} * kPacedMtu / c.connections));
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
  pair.post(RocePair::message(0, 0, 100 * kPacedMtu));
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
  pair.post(RocePair::message(0, 0, int64_t{kPackets} * kPacedMtu));
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
  pair.post(RocePair::message(0, 0, 1000 * kPacedMtu));
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
  pair.post(RocePair::message(0, 0, 300 * kPacedMtu));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("paced at"));
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
}

// Nothing is held back for ever, whatever is lost.
TEST(RoceCongestion, EverythingArrivesInSpiteOfLosses) {
  for (const CongestionAlgorithm algorithm : {CongestionAlgorithm::kStatic, CongestionAlgorithm::kDcqcn,
                                              CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift}) {
    for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
      if (verb == DataVerb::kRead && follows_acknowledgements(CongestionOptions{.algorithm = algorithm})) continue;
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

// Of four connections from a to b the first belongs to nobody in particular, two to job 1, and of those one to group 2:
// line rate, 10 Gb/s and 1 Gb/s. The first rule that fits decides.
TEST(RoceCongestion, JobsAndGroupsHaveTheirOwn) {
  RoceOptions options = options_of(CongestionAlgorithm::kNone);
  options.profile.window = 1 << 20;
  options.congestion_exceptions = {
      {.job = JobId(1), .group = GroupId(2), .options = static_rate(1'000'000'000).congestion},
      {.job = JobId(1), .options = static_rate(10'000'000'000).congestion},
      {.group = GroupId(3), .options = static_rate(5'000'000).congestion}};
  TransportPlan plan = pair_plan(4);
  for (Connection& connection : plan.connections) connection.job = JobId(0);
  for (const uint32_t i : {1, 2}) plan.connections[i].job = JobId(1);
  plan.connections[2].group = plan.connections[3].group = GroupId(2);
  RocePair pair(options, {}, plan);
  pair.connect();
  constexpr uint32_t kPackets = 500;
  for (uint32_t i = 0; i < 4; ++i) pair.post(RocePair::message(i, 0, int64_t{kPackets} * kPacedMtu));
  pair.run_until();
  const auto received = pair.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 4u);
  // Of 1106 bytes each. Those at line rate share it and leave the others little: between 44.5 Gb/s and half of it each.
  const auto at_rate = [](int64_t rate) {
    return serialization_time(line_bytes(58 + kPacedMtu), Bandwidth(rate)) * (kPackets - 1);
  };
  for (const Event& event : received) {
    const Duration taken = event.received.delivered - event.received.first_rx;
    const uint32_t i = event.connection.value;
    if (i == 1 || i == 2) {
      // A packet waits for at most a turn of each of the others.
      const Duration exact = at_rate(i == 1 ? 10'000'000'000 : 1'000'000'000);
      EXPECT_NEAR(static_cast<double>(taken.ps), static_cast<double>(exact.ps), 2 * 16 * 88'480) << i;
    } else {
      EXPECT_GE(taken, at_rate(50'000'000'000)) << i;
      EXPECT_LE(taken, at_rate(44'000'000'000)) << i;
    }
  }
}

// Its queue pairs are numbered by each algorithm anew: a CNP for one changes that one's rate alone, and Swift's heed
// none.
TEST(RoceCongestion, AlgorithmsSideBySideKeepTheirQueuePairsApart) {
  RoceOptions options = options_of(CongestionAlgorithm::kDcqcn);
  options.congestion.notification.min_time_between_cnps = Duration();
  options.congestion.dcqcn.rate_to_set_on_first_cnp = Bandwidth(5'000'000'000);
  CongestionOptions swift = options.congestion;
  swift.algorithm = CongestionAlgorithm::kSwift;
  options.congestion_exceptions = {{.job = JobId(1), .options = swift}};
  TransportPlan plan = pair_plan(3);
  for (const uint32_t i : {0, 2}) plan.connections[i].job = JobId(0);
  plan.connections[1].job = JobId(1);
  RocePair pair(options, {.mark_ppm = 1'000'000}, plan);
  pair.connect();
  for (const uint32_t i : {1, 2}) pair.post(RocePair::message(i, 0, 100 * kPacedMtu));
  pair.run_until();
  ASSERT_EQ(pair.events(EventKind::kReceived).size(), 2u);
  const std::vector<FlowCounters> flows = pair.a().flows();
  EXPECT_EQ(flows[0].source_end, RdmaCounters());
  EXPECT_EQ(flows[1].source_end, (RdmaCounters{.rp_cnp_ignored = 100}));
  EXPECT_EQ(flows[2].source_end, (RdmaCounters{.rp_cnp_handled = 100}));
  EXPECT_THAT(pair.a().describe(ConnectionId(1)), HasSubstr("congestion window"));
  EXPECT_THAT(pair.a().describe(ConnectionId(2)), HasSubstr("paced at"));
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), ::testing::Not(HasSubstr("paced at")));
}

// What is ready is said at once, 21 times, on the queue pair that then answers READs: at 1 Gb/s a word of 82 bytes
// takes 0.848 us and a response 8.848. They take turns, so neither the first response waits for all the words (18 us)
// nor the last word for all the responses (2100 of them, 18.6 ms).
TEST(RoceCongestion, RequestsAndResponsesShareTheRateInTurns) {
  RoceOptions options = static_rate(1'000'000'000);
  options.verb = DataVerb::kRead;
  RocePair pair(options, {});
  pair.connect();
  for (uint32_t i = 0; i <= 20; ++i) pair.post(RocePair::message(0, i, 100 * kPacedMtu));
  pair.run_until();
  const auto sent = pair.events(EventKind::kSent), received = pair.events(EventKind::kReceived);
  ASSERT_EQ(sent.size(), 21u);
  ASSERT_EQ(received.size(), 21u);
  EXPECT_LT(received[0].received.first_rx, Time() + microseconds(5));
  EXPECT_LT(sent[20].sent.first_tx, Time() + Duration(21 * (8'848'000 + 848'000 + 32'000)));
  EXPECT_GT(sent[20].sent.first_tx, Time() + Duration(15 * (8'848'000 + 848'000)));
  const double us = static_cast<double>((received[20].received.delivered - received[0].received.first_rx).ps) / 1e6;
  EXPECT_NEAR(us, 2'099 * 8.848 + 20 * 0.848, 2'100 * 0.032);  // some with AETH
  EXPECT_EQ(pair.b().counters().timeouts, 0u);
}

TEST(RoceCongestion, WindowsCannotHoldReadsBack) {
  for (const CongestionAlgorithm algorithm : {CongestionAlgorithm::kDctcp, CongestionAlgorithm::kSwift}) {
    RoceOptions options = options_of(algorithm);
    options.verb = DataVerb::kRead;
    try {
      RocePair pair(options, {});
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("READ responses"));
    }
  }
}

}  // namespace
}  // namespace rankwire
