#include "fabric/topology.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "fabric/ecmp_hash.h"
#include "fabric/routing.h"

namespace rankwire {
namespace {

constexpr Line kLine{Bandwidth(100'000'000'000), nanoseconds(500)};

std::vector<Line> lines(size_t hosts) {
  return std::vector<Line>(hosts, kLine);
}

TEST(Topology, FatTreeHasTheCountsOfItsPaper) {
  // k = 8: 8 pods x (4 + 4) switches and 16 core switches, 8 x 4 x 4 cables in each of two layers, 128 hosts.
  const Topology tree = fat_tree({.k = 8, .uplink = kLine}, lines(128));
  EXPECT_EQ(tree.switches.size(), 80u);
  EXPECT_EQ(tree.cables.size(), 256u);
  std::vector<uint32_t> ports(tree.switches.size());
  for (uint32_t p = 0; p < tree.ports(); ++p) ++ports[tree.switch_of(p).value];
  for (const uint32_t count : ports) EXPECT_EQ(count, 8u);
  EXPECT_NO_THROW(check(tree));
  EXPECT_THROW(fat_tree({.k = 8, .uplink = kLine}, lines(129)), Error);
}

TEST(Topology, RailsMeetInTheirOwnLeaves) {
  // Two rails, three hosts of two ports, two hosts a group: leaves g0.r0, g0.r1, g1.r0, g1.r1.
  const Topology rails = rail_optimised({.rails = 2, .hosts_per_group = 2, .spines = 1, .uplink = kLine}, lines(6));
  const std::vector<uint32_t> expected = {0, 1, 0, 1, 2, 3};
  for (size_t h = 0; h < expected.size(); ++h) EXPECT_EQ(rails.hosts[h].at.value, expected[h]) << h;
  EXPECT_EQ(rails.switches[3], "group1.rail1");
}

TEST(Topology, NamesPortsByTheirNeighbours) {
  const Topology pair = leaf_spine({.leaves = 1, .spines = 1, .parallel = 2, .uplink = kLine}, lines(1));
  const std::vector<std::string> hosts = {"p0"};
  EXPECT_EQ(pair.port_name(0, hosts), "leaf0.spine0#0");
  EXPECT_EQ(pair.port_name(3, hosts), "spine0.leaf0#1");
  EXPECT_EQ(pair.port_name(4, hosts), "leaf0.p0");
}

TEST(Topology, RefusesWhatIsNoFabric) {
  Topology broken = star(lines(2));
  EXPECT_NO_THROW(check(broken));
  broken.switches.push_back("far");
  broken.hosts[1].at = SwitchId(1);
  EXPECT_THROW(check(broken), Error);  // no cable leads there
  broken.cables.push_back({SwitchId(1), SwitchId(1), kLine});
  EXPECT_THROW(check(broken), Error);
  broken.cables.back() = {SwitchId(0), SwitchId(1), kLine};
  EXPECT_NO_THROW(check(broken));
  broken.switches[1] = "switch";
  EXPECT_THROW(check(broken), Error);
}

TEST(Routes, HaveAllShortestPathsOfAFatTree) {
  // k = 4: an edge switch has 2 ways up to another pod, 2 to the other edge of its pod, an aggregation switch 2 to
  // another pod and 1 down; a core switch 1.
  const Topology tree = fat_tree({.k = 4, .uplink = kLine}, lines(16));
  const Routes routes(tree);
  const SwitchId edge(0), neighbour(1), far(7), aggregation(8), core(16);
  EXPECT_EQ(routes.next_ports(edge, far).size(), 2u);
  EXPECT_EQ(routes.next_ports(edge, neighbour).size(), 2u);
  EXPECT_EQ(routes.next_ports(aggregation, far).size(), 2u);
  EXPECT_EQ(routes.next_ports(aggregation, neighbour).size(), 1u);
  EXPECT_EQ(routes.next_ports(core, far).size(), 1u);
  EXPECT_TRUE(routes.next_ports(edge, edge).empty());
  for (const uint32_t port : routes.next_ports(edge, far)) EXPECT_EQ(tree.switch_of(port), edge);
  uint32_t in_tree = 0;
  for (uint32_t c = 0; c < tree.cables.size(); ++c) in_tree += routes.in_tree(c);
  EXPECT_EQ(in_tree, 19u);  // a spanning tree of 20 switches
}

TEST(Routes, LeaveOutCablesThatAreNotInUse) {
  const Topology fabric = leaf_spine({.leaves = 2, .spines = 2, .uplink = kLine}, lines(2));
  Routes routes(fabric);
  EXPECT_EQ(routes.next_ports(SwitchId(0), SwitchId(1)).size(), 2u);
  std::vector<uint8_t> in_use = {1, 1, 1, 0};  // cable 3 joins leaf 1 with spine 1
  routes.compute(in_use);
  ASSERT_EQ(routes.next_ports(SwitchId(0), SwitchId(1)).size(), 1u);
  EXPECT_EQ(routes.next_ports(SwitchId(0), SwitchId(1))[0], 0u);
  in_use[1] = 0;
  routes.compute(in_use);
  EXPECT_TRUE(routes.next_ports(SwitchId(0), SwitchId(1)).empty());
}

/// Every field counts, and the queue pair where it is looked at.
TEST(FlowHash, DependsOnEveryField) {
  const FlowKey key{.source = {0, 1}, .destination = {0, 2}, .source_port = 3, .destination_port = 4, .protocol = 17};
  const uint32_t hash = flow_hash(key);
  const auto differs = [&](auto change) {
    FlowKey other = key;
    change(other);
    return flow_hash(other) != hash;
  };
  EXPECT_TRUE(differs([](FlowKey& k) { k.source[0] = 9; }));
  EXPECT_TRUE(differs([](FlowKey& k) { k.source[1] = 9; }));
  EXPECT_TRUE(differs([](FlowKey& k) { k.destination[1] = 9; }));
  EXPECT_TRUE(differs([](FlowKey& k) { k.source_port = 9; }));
  EXPECT_TRUE(differs([](FlowKey& k) { k.destination_port = 9; }));
  EXPECT_TRUE(differs([](FlowKey& k) { k.protocol = 9; }));
  EXPECT_TRUE(differs([](FlowKey& k) { k.destination_qp = 9; }));
}

}  // namespace
}  // namespace rankwire
