// What a transport's packets look like, and how it answers: read from the frames that it sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/dataplane/roce/pair.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire {
namespace {

using testing::FrameBytes;
using testing::pair_plan;
using testing::RocePair;

RoceOptions small_options() {
  RoceOptions options;
  options.mtu = 1024;
  options.profile.timeout_exponent = 6;
  return options;
}

/// The packets of the captured frames; foreign frames are left out. `frames` must outlive them.
std::vector<ParsedPacket> packets_of(std::vector<FrameBytes>& frames) {
  std::vector<ParsedPacket> packets;
  for (FrameBytes& bytes : frames) {
    const Frame frame = testing::frame_over(bytes);
    const ParsedPacket packet = parse(frame);
    if (is_foreign(packet.reject)) continue;
    EXPECT_EQ(packet.reject, Reject::kNone) << to_string(packet.reject);
    EXPECT_TRUE(icrc_matches(frame, packet));
    packets.push_back(packet);
  }
  return packets;
}

TransportPlan tagged_ipv6_plan() {
  TransportPlan plan = pair_plan();
  for (Nic& nic : plan.nics) {
    nic.ip = *parse_ip(nic.id == NicId(0) ? "2001:db8:5::1" : "2001:db8:5::2");
    nic.prefix_length = 64;
    nic.vlan = 100;
  }
  return plan;
}

TEST(RoceWire, MarkingsAreThoseOfTheirKind) {
  RoceOptions options = small_options();
  options.markings = {.data = {.dscp = 26, .ecn = Ecn::kCapable0, .priority = 3},
                      .ack = {.dscp = 48, .ecn = Ecn::kNotCapable, .priority = 6},
                      .nak = {.dscp = 46, .ecn = Ecn::kCapable1, .priority = 5},
                      .cnp = {}};
  for (const TransportPlan& plan : {pair_plan(), tagged_ipv6_plan()}) {
    const bool tagged = plan.nics[0].vlan.has_value();
    RocePair pair(options, {}, plan);
    pair.connect();
    pair.port_a().capture();
    pair.port_b().capture();
    pair.port_b().lose(1);  // so that there is a NAK
    pair.post(RocePair::message(0, 0, 4 * 1024));
    pair.run_until();
    ASSERT_EQ(pair.events(EventKind::kReceived).size(), 1u);
    std::vector<FrameBytes> requests = pair.port_a().sent(), answers = pair.port_b().sent();
    for (const ParsedPacket& packet : packets_of(requests)) {
      EXPECT_EQ(packet.dscp, 26);
      EXPECT_EQ(packet.ecn, Ecn::kCapable0);
      EXPECT_EQ(packet.priority, tagged ? 3 : 0);
      EXPECT_EQ(packet.vlan, tagged ? 100 : 0);
    }
    const auto replies = packets_of(answers);
    ASSERT_EQ(replies.size(), 2u);
    EXPECT_EQ(replies[0].syndrome, static_cast<uint8_t>(Syndrome::kNakSequence));
    EXPECT_EQ(replies[0].dscp, 46);
    EXPECT_EQ(replies[0].ecn, Ecn::kCapable1);
    EXPECT_EQ(replies[0].priority, tagged ? 5 : 0);
    EXPECT_EQ(replies[1].syndrome, static_cast<uint8_t>(Syndrome::kAck));
    EXPECT_EQ(replies[1].dscp, 48);
    EXPECT_EQ(replies[1].priority, tagged ? 6 : 0);
  }
}

TEST(RoceWire, EveryVerbOverIpv6WithATag) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const PayloadMode payload : {PayloadMode::kChecking, PayloadMode::kPattern}) {
      RoceOptions options = small_options();
      options.verb = verb;
      options.payload = payload;
      RocePair pair(options, {}, tagged_ipv6_plan());
      pair.connect();
      pair.port_a().capture();
      for (uint32_t i = 0; i < 5; ++i) pair.post(RocePair::message(0, i, 1000 * i));
      pair.run_until();
      EXPECT_EQ(pair.events(EventKind::kReceived).size(), 5u);
      EXPECT_EQ(pair.b().counters().payload_errors + pair.b().counters().icrc_errors, 0u);
      std::vector<FrameBytes> frames = pair.port_a().sent();
      for (const ParsedPacket& packet : packets_of(frames)) {
        EXPECT_EQ(packet.ip_version, IpVersion::kIpv6);
        EXPECT_EQ(packet.destination_ip(), pair.plan().nics[1].ip);
        EXPECT_EQ(packet.vlan, 100);
      }
    }
  }
}

std::set<uint16_t> source_ports(const RoceOptions& options, uint32_t messages) {
  RocePair pair(options, {});
  pair.connect();
  pair.port_a().capture();
  for (uint32_t i = 0; i < messages; ++i) pair.post(RocePair::message(0, i, 20 * 1024));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), messages);
  EXPECT_EQ(pair.b().counters().icrc_errors, 0u);
  std::vector<FrameBytes> frames = pair.port_a().sent();
  std::set<uint16_t> ports;
  for (const ParsedPacket& packet : packets_of(frames)) ports.insert(packet.udp().source_port.value());
  return ports;
}

TEST(RoceWire, SourcePortsFollowTheirPolicy) {
  RoceOptions options = small_options();
  // Queue pairs 0x10 and 0x12, the first source and, behind two sources, the first destination: 0x120 = 288, and
  // 288 >> 14 is 0.
  EXPECT_EQ(source_ports(options, 4), std::set<uint16_t>{0xC000 | 288});
  options.source_port = SourcePortPolicy::kFixed;
  options.fixed_source_port = 0xD00D;
  EXPECT_EQ(source_ports(options, 4), std::set<uint16_t>{0xD00D});
  // Hashed into 16384 ports: of 4 messages or 80 packets hardly any two meet.
  options.source_port = SourcePortPolicy::kPerMessage;
  EXPECT_EQ(source_ports(options, 4).size(), 4u);
  options.source_port = SourcePortPolicy::kPerPacket;
  EXPECT_GE(source_ports(options, 4).size(), 78u);
}

TEST(RoceWire, ProfileDecidesMigrationAndHopLimit) {
  RoceOptions options = small_options();
  options.profile = *find_nic_profile("rxe");
  options.profile.hop_limit = 9;
  RocePair pair(options, {});
  pair.connect();
  pair.port_a().capture();
  pair.post(RocePair::message(0, 0, 10));
  pair.run_until();
  std::vector<FrameBytes> frames = pair.port_a().sent();
  ASSERT_EQ(frames.size(), 1u);
  const auto& header = *reinterpret_cast<const testing::UntaggedIpv4*>(frames[0].data());
  EXPECT_EQ(header.ip.time_to_live, 9);
  EXPECT_EQ(header.bth.flags & Bth::kMigrated, 0);
}

// One burst brings several requests; the answers say what each of them was, or are one.
TEST(RoceAnswers, PerRequestOrMergedAsTheProfileSays) {
  for (const uint8_t requests_per_ack : {1, 255}) {
    RoceOptions options = small_options();
    options.profile.requests_per_ack = requests_per_ack;
    RocePair pair(options, {});
    pair.connect();
    pair.port_b().capture();
    constexpr uint32_t kMessages = 20;
    for (uint32_t i = 0; i < kMessages; ++i) pair.post(RocePair::message(0, i, 10));
    // b looks only when everything has arrived.
    Event events[8];
    for (uint32_t i = 0; i < kMessages; ++i) {
      pair.a().poll(pair.now(), events);
      pair.set_now(std::max(pair.now(), pair.a().next_event()));
      if (pair.a().next_event() == Time::never()) break;
    }
    pair.set_now(Time() + microseconds(10));
    pair.run_until();
    std::vector<FrameBytes> frames = pair.port_b().sent();
    const auto answers = packets_of(frames);
    if (requests_per_ack == 1) {
      ASSERT_EQ(answers.size(), kMessages);
      for (uint32_t i = 0; i < kMessages; ++i) EXPECT_EQ(answers[i].psn, psn_add(answers[0].psn, i));
    } else {
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0].msn, kMessages);
    }
    EXPECT_EQ(pair.events(EventKind::kSent).size(), kMessages);
  }
}

// Over untagged IPv4 a MIDDLE that asks is known without being parsed; behind a tag, over IPv6, it is parsed.
TEST(RoceAnswers, MiddlesThatAskCountAlikeParsedOrNot) {
  RoceOptions options = small_options();
  options.profile.ack_every = options.profile.requests_per_ack = 1;
  for (const ReceiveCheck check : {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer}) {
    options.receive_check = check;
    for (const TransportPlan& plan : {pair_plan(), tagged_ipv6_plan()}) {
      RocePair pair(options, {}, plan);
      pair.connect();
      pair.post(RocePair::message(0, 0, 20 * 1024));
      pair.run_until();
      // A packet a KiB, an ACK a packet.
      const TransportCounters near = pair.a().counters(), far = pair.b().counters();
      EXPECT_EQ(far.data_packets_rx, 20u);
      EXPECT_EQ(far.packets_rx, 20u);
      EXPECT_EQ(far.bytes_rx, near.bytes_tx);
      EXPECT_EQ(far.packets_tx, 20u);
      EXPECT_EQ(near.packets_rx, 20u);
      EXPECT_EQ(near.retransmitted + near.malformed + near.icrc_errors + far.malformed + far.icrc_errors, 0u);
      EXPECT_EQ(pair.events(EventKind::kReceived).size(), 1u);
    }
  }
}

// Two receives, and an application that takes no events: the third message waits, by RNR NAKs, until it does.
TEST(RoceAnswers, ReceiveQueueOfTwoHoldsTheThirdMessageBack) {
  RoceOptions options = small_options();
  options.receive_queue = 2;
  options.profile.not_ready_code = 1;  // 10 us
  RocePair pair(options, {});
  pair.connect();
  for (uint32_t i = 0; i < 3; ++i) pair.post(RocePair::message(0, i, 10));
  Time now;
  Event events[8];
  const auto poll_both = [&](std::span<Event> taken_by_b) {
    size_t taken = 0;
    for (const Time end = now + microseconds(100); now < end; now += nanoseconds(100)) {
      pair.a().poll(now, events);
      taken += pair.b().poll(now, taken_by_b);
    }
    return taken;
  };
  EXPECT_EQ(poll_both({}), 0u);
  EXPECT_EQ(pair.b().counters().messages_delivered, 2u);
  // At 0.1, 10.x, 20.x us ...: each attempt costs the wait and two trips of about 0.6 us.
  EXPECT_GE(pair.b().counters().rnr_naks_tx, 7u);
  EXPECT_LE(pair.b().counters().rnr_naks_tx, 10u);
  EXPECT_EQ(pair.a().counters().rnr_naks, pair.b().counters().rnr_naks_tx);
  EXPECT_EQ(pair.a().flows()[0].rnr_naks, pair.a().counters().rnr_naks);
  EXPECT_EQ(pair.a().flows()[0].source_end, (RdmaCounters{.rnr_nak_retry_err = pair.a().counters().rnr_naks}));
  EXPECT_EQ(pair.b().flows()[0].destination_end, (RdmaCounters{.out_of_buffer = pair.b().counters().rnr_naks_tx}));
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), ::testing::HasSubstr("waiting for the receiver to be ready"));
  EXPECT_THAT(pair.b().describe(ConnectionId(0)), ::testing::HasSubstr("no receive posted"));
  Event taken[8];
  EXPECT_EQ(poll_both(taken), 3u);
  EXPECT_EQ(pair.a().counters().messages_sent, 3u);
  EXPECT_EQ(pair.a().counters().timeouts, 0u);
}

TEST(RoceAnswers, ReceiveQueueLimitsEveryVerbAndSpread) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const Spread spread : {Spread::kSplit, Spread::kDeal}) {
      RoceOptions options = small_options();
      options.verb = verb;
      options.spread = spread;
      options.queue_pairs = 3;
      options.receive_queue = 1;
      options.profile.not_ready_code = 1;
      options.payload = PayloadMode::kChecking;
      RocePair pair(options, {});
      pair.connect();
      for (uint32_t i = 0; i < 30; ++i) pair.post(RocePair::message(0, i, 3000));
      pair.run_until();
      EXPECT_EQ(pair.events(EventKind::kReceived).size(), 30u);
      EXPECT_EQ(pair.events(EventKind::kSent).size(), 30u);
      EXPECT_EQ(pair.b().counters().payload_errors, 0u);
    }
  }
}

TEST(RoceAnswers, UnindexedMessagesAreReportedWhenAskedFor) {
  for (const DataVerb verb : {DataVerb::kWrite, DataVerb::kSend}) {
    for (const UnindexedMessages unindexed : {UnindexedMessages::kIgnored, UnindexedMessages::kReported}) {
      RoceOptions options = small_options();
      options.verb = verb;
      options.unindexed = unindexed;
      options.payload = PayloadMode::kChecking;
      RocePair pair(options, {});
      pair.connect();
      for (uint32_t i = 0; i < 3; ++i) pair.post(RocePair::message(0, 10 + i, 1000));
      pair.run_until();
      EXPECT_EQ(pair.events(EventKind::kSent).size(), 3u);
      EXPECT_EQ(RocePair::detail(pair.b(), "unindexed_messages"), 3u);
      const auto received = pair.events(EventKind::kReceived);
      if (unindexed == UnindexedMessages::kIgnored) {
        EXPECT_TRUE(received.empty());
        continue;
      }
      ASSERT_EQ(received.size(), 3u);
      for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(received[i].index, i);
        EXPECT_EQ(received[i].received.payload_key, payload_key(RocePair::message(0, 10 + i, 1000).id));
      }
    }
  }
}

TEST(RoceLatency, RoundTripsAndArrivalErrorsAreMeasured) {
  RocePair pair(small_options(), {});
  pair.connect();
  for (uint32_t i = 0; i < 10; ++i) {
    pair.post(RocePair::message(0, i, 1000));
    pair.run_until();
  }
  const auto latencies = pair.a().latencies();
  ASSERT_EQ(latencies.size(), 2u);
  EXPECT_EQ(latencies[0].kind, LatencyKind::kRoundTrip);
  ASSERT_EQ(latencies[0].histogram->count(), 10u);
  // 1102 bytes of request and 86 of acknowledgement at 80 ps, and 500 ns each way.
  EXPECT_EQ(latencies[0].histogram->max(), Duration(80 * (1102 + 86)) + microseconds(1));
  EXPECT_EQ(latencies[1].histogram->count(), 0u) << "the other ends are not here";
  EXPECT_GT(pair.a().ports()[0].arrival_error, Duration());
}

// Two queues a port, and receive-side scaling that knows nothing of queue pairs: what one queue's queue pair is to get
// arrives at the other.
TEST(RoceQueues, OfOnePortShareItsTraffic) {
  FramePool pool(4096);
  auto first = make_memory_link(pool, 1024, "first"), second = make_memory_link(pool, 1024, "second");
  const Bandwidth rate(100'000'000'000);
  RoceOptions options = small_options();
  options.queue_pairs = 4;
  RoceTransport a(options, {{PortId(0), first.first.get(), rate}, {PortId(0), second.first.get(), rate}});
  RoceTransport b(options, {{PortId(1), second.second.get(), rate}, {PortId(1), first.second.get(), rate}});
  const TransportPlan plan = pair_plan();
  std::vector<EndPoint> ends = a.prepare(plan);
  std::ranges::copy(b.prepare(plan), std::back_inserter(ends));
  ASSERT_TRUE(a.connect(ends).empty());
  ASSERT_TRUE(b.connect(ends).empty());
  for (uint32_t i = 0; i < 20; ++i) {
    const Message message = RocePair::message(0, i, 5000);
    ASSERT_EQ(a.post(Time(), {&message, 1}), 1u);
  }
  Event events[16];
  size_t sent = 0;
  for (Time now; sent < 20 && now < Time() + milliseconds(1); now += nanoseconds(50)) {
    sent += a.poll(now, events);
    b.poll(now, events);
  }
  EXPECT_EQ(sent, 20u);
  EXPECT_EQ(b.counters().messages_delivered, 20u);
  EXPECT_EQ(RocePair::detail(b, "misdirected"), 0u);
  for (const auto& link : {&first, &second}) EXPECT_GT(link->first->counters().tx_frames, 10u);
  a.close();
  b.close();
}

}  // namespace
}  // namespace rankwire
