#include "dataplane/switch/forwarder.h"

#include <vector>

#include "fabric/ecmp_hash.h"
#include "tests/dataplane/switch/parts.h"

namespace rankwire {
namespace {

/// Two leaves with two hosts each under two spines.
class FabricForwarderTest : public testing::FabricPartsTest {
 protected:
  FabricForwarder& make_forwarder() {
    return make(leaf_spine({.leaves = 2, .spines = 2, .uplink = kTenGigabit}, lines(4))).forwarder;
  }
  uint32_t host_port(uint32_t host) const { return parts_->tables.first_host_port + host; }
  static FabricPacket packet(uint16_t destination, uint32_t flow = 0) {
    FabricPacket packet{};
    packet.destination = destination;
    packet.flow = flow;
    return packet;
  }
  /// Of the switch that the host is behind, ascending.
  std::vector<uint32_t> uplinks_of(uint32_t host) const {
    const FabricTables& tables = parts_->tables;
    std::vector<uint32_t> uplinks;
    for (uint32_t port = 0; port < tables.first_host_port; ++port)
      if (tables.ports[port].device == tables.ports[host_port(host)].device) uplinks.push_back(port);
    return uplinks;
  }
};

TEST_F(FabricForwarderTest, AHostBehindTheSameSwitchIsBehindItsPort) {
  FabricForwarder& forwarder = make_forwarder();
  EXPECT_EQ(forwarder.choose(host_port(0), packet(1), Time()), host_port(1));
  EXPECT_EQ(forwarder.choose(uplinks_of(0)[0], packet(1), Time()), host_port(1));
  EXPECT_EQ(forwarder.choose(host_port(0), packet(0), Time()), FabricForwarder::kNoOutput);  // its own
}

TEST_F(FabricForwarderTest, AFlowTakesTheWayOfItsHash) {
  FabricForwarder& forwarder = make_forwarder();
  const std::vector<uint32_t> uplinks = uplinks_of(0);
  const uint64_t seed = parts_->tables.switch_of(host_port(0)).hash_seed;
  for (uint32_t flow = 0; flow < 20; ++flow)
    EXPECT_EQ(forwarder.choose(host_port(0), packet(2, flow), Time()), uplinks.at(ecmp_member(flow, seed, 2)));
}

TEST_F(FabricForwarderTest, SprayedFramesTakeAllWaysInTurn) {
  options_.balancing.spreading = Spreading::kPacket;
  FabricForwarder& forwarder = make_forwarder();
  const std::vector<uint32_t> uplinks = uplinks_of(0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(forwarder.choose(host_port(i % 2), packet(3), Time()), uplinks.at(i % 2)) << i;
}

TEST_F(FabricForwarderTest, RoutesFollowTheCables) {
  FabricForwarder& forwarder = make_forwarder();
  const std::vector<uint32_t> uplinks = uplinks_of(0);
  std::vector<uint8_t> in_use(parts_->tables.topology.cables.size(), 1);
  in_use[uplinks[0] / 2] = 0;
  forwarder.follow(in_use);
  for (uint32_t flow = 0; flow < 20; ++flow)
    EXPECT_EQ(forwarder.choose(host_port(0), packet(2, flow), Time()), uplinks[1]);
  in_use[uplinks[1] / 2] = 0;
  forwarder.follow(in_use);
  EXPECT_EQ(forwarder.choose(host_port(0), packet(2), Time()), FabricForwarder::kNoOutput);
  EXPECT_EQ(forwarder.choose(host_port(0), packet(1), Time()), host_port(1));  // needs no cable
}

/// A frame to nobody that is known goes to the other host of the leaf and to both spines.
TEST_F(FabricForwarderTest, WhatIsForEverybodyIsCopiedAlongTheTree) {
  FabricForwarder& forwarder = make_forwarder();
  const uint32_t handle = hold(host_port(0), 0, {.source = station(0), .destination = station(9)});
  parts_->tables.packets[handle].destination = FabricPacket::kUnread;
  forwarder.arrive(host_port(0), handle, Time());
  const FabricPortCounters counters = parts_->tables.counters(host_port(0));
  EXPECT_EQ(counters.flooded, 1u);
  // The tree grows from leaf 0, so both of its uplinks belong to it: two copies, and the frame itself.
  EXPECT_EQ(counters.flood_copies, 2u);
  EXPECT_EQ(parts_->outputs.hops(), 3u);
}

}  // namespace
}  // namespace rankwire
