#include "dataplane/roce/link_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/dataplane/roce/parts.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::PartsTest;

class LinkKeeperTest : public PartsTest {
 protected:
  LinkKeeperTest() { options_.neighbours = NeighbourMode::kResolve; }

  void resolve_all() {
    make();
    for (uint32_t i = 0; i < parts_->pairs.size(); ++i) EXPECT_EQ(parts_->links.resolve(i), "");
  }
  Neighbours& neighbours(uint32_t port) { return parts_->lanes.port(port).neighbours; }
  /// What one port's NICs have to say is heard by the other's.
  void say(uint32_t port, Time now) {
    std::array<uint8_t, 256> bytes;
    Frame frame;
    frame.head = bytes.data();
    while (neighbours(port).write(now, {&frame, 1}) == 1) neighbours(1 - port).receive(frame);
  }
  MacAddress destination_of(uint32_t queue_pair) const {
    MacAddress mac;
    std::memcpy(&mac, parts_->pairs.templates[queue_pair].header(), sizeof mac);
    return mac;
  }
  LinkState link(uint32_t queue_pair) const { return parts_->pairs.ends[queue_pair].link; }
};

TEST_F(LinkKeeperTest, ANextHopIsWaitedFor) {
  resolve_all();
  EXPECT_EQ(link(source()), LinkState::kResolving);
  EXPECT_FALSE(parts_->links.ready());
  const std::vector<ConnectFailure> failures = parts_->links.not_ready();
  ASSERT_EQ(failures.size(), 4u) << "both ends of both connections";
  EXPECT_EQ(failures[0].connection, ConnectionId(0));
  EXPECT_EQ(failures[0].reason, "198.18.0.2: no answer to ARP yet, 0 requests");
}

TEST_F(LinkKeeperTest, ALinkOpensWhenItsNextHopIsFound) {
  resolve_all();
  post(1000);
  EXPECT_TRUE(parts_->lanes[0].senders.empty());
  parts_->requests.on_request(destination(), next_write(destination(), 100), Time(), Time());
  EXPECT_EQ(owed(1), 0u);
  say(0, Time());
  say(1, Time());
  parts_->links.follow(Time());
  EXPECT_EQ(link(source()), LinkState::kOpen);
  EXPECT_EQ(destination_of(source()), plan_.nics[1].mac);
  EXPECT_EQ(parts_->lanes[0].senders.size(), 1u) << "what was posted goes out";
  EXPECT_EQ(owed(1), 1u) << "and what has arrived is answered";
  // Lane 1's own question has been asked meanwhile, and answered.
  say(0, Time());
  parts_->links.follow(Time());
  EXPECT_TRUE(parts_->links.ready());
  EXPECT_TRUE(parts_->links.not_ready().empty());
}

// Where the plan tells all addresses there is nothing but announcements to wait for.
TEST_F(LinkKeeperTest, NicsAnnounceThemselvesFirst) {
  options_.neighbours = NeighbourMode::kStatic;
  options_.announcements = Announcements::kSent;
  make();
  EXPECT_TRUE(parts_->links.not_ready().empty());
  EXPECT_FALSE(parts_->links.ready());
  say(0, Time());
  EXPECT_FALSE(parts_->links.ready());
  say(1, Time());
  EXPECT_TRUE(parts_->links.ready());
}

TEST_F(LinkKeeperTest, AQueuePairFollowsANextHopThatMoves) {
  resolve_all();
  say(0, Time());
  say(1, Time());
  parts_->links.follow(Time());
  Nic moved = plan_.nics[1];
  moved.mac.bytes[5] = 0x77;
  std::array<uint8_t, 256> bytes;
  Frame frame;
  frame.head = bytes.data();
  write_announcement(moved, frame);
  neighbours(0).receive(frame);
  parts_->links.follow(Time());
  EXPECT_EQ(destination_of(source()), moved.mac);
}

TEST_F(LinkKeeperTest, AQueuePairFailsWhenItsNextHopIsGivenUp) {
  options_.resolve_deadline = seconds(3);
  resolve_all();
  post(1000);
  neighbours(0).write(Time(), {});
  parts_->links.follow(Time() + seconds(3));
  EXPECT_EQ(link(source()), LinkState::kResolving);
  neighbours(0).write(Time() + seconds(3), {});
  parts_->links.follow(Time() + seconds(3));
  EXPECT_EQ(link(source()), LinkState::kUnreachable);
  EXPECT_TRUE(parts_->pairs.ends[source()].failed);
  const std::vector<Event> events = take_sent();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].failure, Failure::kUnreachable);
  EXPECT_EQ(parts_->links.state_of(source()), "198.18.0.2: no answer to ARP in 3 s, 0 requests");
}

TEST_F(LinkKeeperTest, WithoutAGatewayThereIsNoWayToAnotherSubnet) {
  plan_.nics[1].ip = Ipv4Address{0x0A000001};
  make();
  EXPECT_EQ(parts_->links.resolve(source()), "10.0.0.1 is not on the subnet of 198.18.0.1/15, which has no gateway");
  EXPECT_EQ(link(source()), LinkState::kUnreachable);
  EXPECT_EQ(parts_->links.state_of(source()), "no way from 198.18.0.1 to 10.0.0.1");
  EXPECT_EQ(parts_->pairs.requesters[source()].state(), Requester::State::kError);
}

TEST_F(LinkKeeperTest, TheGatewayIsNamed) {
  plan_.nics[1].ip = Ipv4Address{0x0A000001};
  plan_.nics[0].gateway = Ipv4Address{0xC61200FE};
  make();
  EXPECT_EQ(parts_->links.resolve(source()), "");
  EXPECT_THAT(parts_->links.state_of(source()),
              HasSubstr("198.18.0.254 (gateway of 198.18.0.1): no answer to ARP yet"));
}

}  // namespace
}  // namespace rankwire
