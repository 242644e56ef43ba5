// Next hops: found, not found, behind a gateway; ping; thousands of NICs behind a port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"
#include "tests/dataplane/roce/pair.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::pair_plan;
using testing::RocePair;

RoceOptions resolving_options() {
  RoceOptions options;
  options.mtu = 1024;
  options.neighbours = NeighbourMode::kResolve;
  options.payload = PayloadMode::kChecking;
  return options;
}

void expect_each_delivered(RocePair& pair) {
  for (uint32_t i = 0; i < 5; ++i)
    for (const uint32_t connection : {0, 1}) pair.post(RocePair::message(connection, i, 3000));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), 10u);
  EXPECT_EQ(pair.events(EventKind::kSent).size(), 10u);
}

TEST(RoceNeighbours, NextHopsAreResolvedBeforeTheTransportIsReady) {
  TransportPlan ipv6 = pair_plan();
  for (Nic& nic : ipv6.nics) {
    nic.ip = *parse_ip(nic.id == NicId(0) ? "2001:db8::a" : "2001:db8::b");
    nic.prefix_length = 64;
    nic.vlan = 7;
  }
  for (const TransportPlan& plan : {pair_plan(), ipv6}) {
    RocePair pair(resolving_options(), {}, plan);
    // What the plan says of the peers' MAC addresses is not looked at.
    for (EndPoint& end : pair.ends()) end.mac = {};
    EXPECT_TRUE(pair.a().connect(pair.ends()).empty());
    EXPECT_TRUE(pair.b().connect(pair.ends()).empty());
    EXPECT_FALSE(pair.a().ready());
    ASSERT_EQ(pair.a().not_ready().size(), 2u);
    EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("waiting for its next hop"));
    pair.set_now(Time() - seconds(1));
    pair.run_until();
    EXPECT_LT(pair.now(), Time());
    EXPECT_TRUE(pair.a().ready());
    EXPECT_TRUE(pair.b().ready());
    EXPECT_TRUE(pair.a().not_ready().empty());
    expect_each_delivered(pair);
  }
}

// Messages posted too early wait.
TEST(RoceNeighbours, MessagesWaitForTheNextHop) {
  RocePair pair(resolving_options(), {});
  ASSERT_TRUE(pair.a().connect(pair.ends()).empty());
  ASSERT_TRUE(pair.b().connect(pair.ends()).empty());
  expect_each_delivered(pair);
}

TEST(RoceNeighbours, SilentNextHopFailsItsConnectionsInTime) {
  RoceOptions options = resolving_options();
  testing::Impairments dead;
  dead.loss_ppm = 1'000'000;
  RocePair pair(options, dead);
  ASSERT_TRUE(pair.a().connect(pair.ends()).empty());
  const Time start = Time() - seconds(10);
  pair.set_now(start);
  pair.post(RocePair::message(0, 0, 100));
  pair.run_until();
  // One request at once, and then one every 250 ms until 3 s are over.
  EXPECT_EQ(pair.now(), start + seconds(3));
  EXPECT_TRUE(pair.a().ready());
  const auto failures = pair.a().not_ready();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].connection, ConnectionId(0));
  EXPECT_EQ(failures[0].reason, "198.18.0.2: no answer to ARP in 3 s, 12 requests");
  EXPECT_THAT(pair.a().describe(ConnectionId(0)), HasSubstr("no answer to ARP"));
  pair.post(RocePair::message(0, 1, 100));
  pair.run_until();
  const auto failed = pair.events(EventKind::kFailed);
  ASSERT_EQ(failed.size(), 2u);
  for (const Event& event : failed) EXPECT_EQ(event.failure, Failure::kUnreachable);
}

TEST(RoceNeighbours, OtherSubnetsNeedAGateway) {
  TransportPlan plan = pair_plan();
  plan.nics[1].ip = *parse_ip("10.0.0.9");
  plan.nics[1].prefix_length = 24;
  RocePair without(resolving_options(), {}, plan);
  const auto failures = without.a().connect(without.ends());
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].reason, "10.0.0.9 is not on the subnet of 198.18.0.1/15, which has no gateway");

  plan.nics[0].gateway = *parse_ip("198.18.0.254");
  testing::Impairments dead;
  dead.loss_ppm = 1'000'000;
  RocePair silent(resolving_options(), dead, plan);
  ASSERT_TRUE(silent.a().connect(silent.ends()).empty());
  silent.run_until();
  ASSERT_EQ(silent.a().not_ready().size(), 2u);
  EXPECT_EQ(silent.a().not_ready()[0].reason,
            "198.18.0.254 (gateway of 198.18.0.1): no answer to ARP in 3 s, 12 requests");
}

// An ARP request from outside is answered whatever the mode, even before anything is connected.
TEST(RoceNeighbours, AnswersArpBeforeItIsConnected) {
  for (const NeighbourMode mode : {NeighbourMode::kStatic, NeighbourMode::kResolve}) {
    RoceOptions options = resolving_options();
    options.neighbours = mode;
    RocePair pair(options, {});
    Nic stranger = pair.plan().nics[0];
    stranger.ip = *parse_ip("198.18.0.77");
    stranger.mac.bytes[5] = 77;
    Frame frame;
    ASSERT_EQ(pair.port_a().allocate({&frame, 1}), 1u);
    write_solicitation(stranger, pair.plan().nics[1].ip, frame);
    ASSERT_EQ(pair.port_a().transmit(pair.now(), {&frame, 1}), 1u);
    pair.run_until();
    EXPECT_EQ(RocePair::detail(pair.b(), "arp_replies_tx"), 1u);
  }
}

TEST(RoceNeighbours, AddressThatAnotherStationClaimsIsNamed) {
  RocePair pair(resolving_options(), {});
  pair.connect();
  Nic thief = pair.plan().nics[1];
  thief.mac.bytes[5] = 99;
  Frame frame;
  ASSERT_EQ(pair.port_a().allocate({&frame, 1}), 1u);
  write_announcement(thief, frame);
  ASSERT_EQ(pair.port_a().transmit(pair.now(), {&frame, 1}), 1u);
  pair.run_until();
  EXPECT_EQ(RocePair::detail(pair.b(), "address_conflicts"), 1u);
  EXPECT_THAT(pair.b().describe(ConnectionId(0)), HasSubstr("02:00:00:00:00:63 claims 198.18.0.2 too"));
}

/// Both transports have as many NICs behind their one port, NIC i of a has a connection to NIC i of b.
TransportPlan wide_plan(uint32_t nics_each) {
  TransportPlan plan;
  plan.messages_in_flight = nics_each;
  for (uint32_t i = 0; i < 2 * nics_each; ++i) {
    Nic nic;
    nic.id = NicId(i);
    nic.port = PortId(i / nics_each);
    nic.mac = {{2, 0, static_cast<uint8_t>(i >> 24), static_cast<uint8_t>(i >> 16), static_cast<uint8_t>(i >> 8),
                static_cast<uint8_t>(i)}};
    nic.ip = Ipv4Address{0x0A000001 + i};
    nic.prefix_length = 8;
    plan.nics.push_back(nic);
  }
  for (uint32_t i = 0; i < nics_each; ++i) {
    Connection connection;
    connection.id = ConnectionId(i);
    connection.source_nic = NicId(i);
    connection.destination_nic = NicId(nics_each + i);
    connection.largest_message = Bytes(1 << 20);
    plan.connections.push_back(connection);
  }
  return plan;
}

TEST(RoceNeighbours, FiveThousandNicsBehindOnePort) {
  constexpr uint32_t kNics = 5000;
  RocePair pair(resolving_options(), {}, wide_plan(kNics));
  ASSERT_TRUE(pair.a().connect(pair.ends()).empty());
  ASSERT_TRUE(pair.b().connect(pair.ends()).empty());
  const Time start = Time() - seconds(10);
  pair.set_now(start);
  pair.run_until();
  EXPECT_TRUE(pair.a().ready());
  EXPECT_TRUE(pair.b().ready());
  EXPECT_TRUE(pair.a().not_ready().empty());
  EXPECT_EQ(RocePair::detail(pair.a(), "arp_requests_tx"), kNics);
  EXPECT_EQ(RocePair::detail(pair.a(), "announcements_tx"), kNics);
  // A request and an announcement a NIC, 10 us apart.
  EXPECT_GE(pair.now() - start, microseconds(99'000));
  EXPECT_LE(pair.now() - start, microseconds(101'000));
  for (uint32_t i = 0; i < kNics; ++i) pair.post(RocePair::message(i, 0, 100));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), kNics);
  EXPECT_EQ(pair.events(EventKind::kSent).size(), kNics);
}

// 100,000 queue pairs on one port: what each of them takes beside its messages.
TEST(RoceMemory, QueuePairTakesAtMost528Bytes) {
  FramePool pool(256);
  auto [near, far] = make_memory_link(pool, 64, "link");
  RoceOptions options;
  options.queue_pairs = 20;
  TransportPlan plan = wide_plan(5000);
  RoceTransport transport(options, {{PortId(0), near.get(), Bandwidth(100'000'000'000)}});
  EXPECT_EQ(transport.prepare(plan).size(), 100'000u);
  const size_t each = transport.queue_pair_bytes() / 100'000;
  EXPECT_LE(each, 528u);
  // Not less than a requester, a responder and their headers.
  EXPECT_GE(each, sizeof(Requester) + sizeof(Responder) + sizeof(HeaderTemplate));
  RecordProperty("bytes_per_queue_pair", static_cast<int>(each));
}

}  // namespace
}  // namespace rankwire
