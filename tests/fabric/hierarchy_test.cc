#include "fabric/hierarchy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/fabric/walks.h"

namespace rankwire {
namespace {

constexpr Line kScaleUp{Bandwidth(3'600'000'000'000), nanoseconds(200)};
constexpr Line kNic{Bandwidth(400'000'000'000), nanoseconds(500)};
constexpr Line kTrunk{Bandwidth(800'000'000'000), nanoseconds(700)};

Topology hierarchy_of(const std::vector<HierarchyLevel>& levels, size_t hosts) {
  Topology topology = hierarchy(levels, std::vector<Line>(hosts, kScaleUp));
  check(topology);
  return topology;
}

// Two leaves of two nodes of four NPUs, each with a NIC of its own.
std::vector<HierarchyLevel> nodes_with_nics() {
  return {{.name = "node", .count = 4, .line = kScaleUp},
          {.name = "leaf", .count = 2, .from_npus = true, .line = kNic},
          {.name = "spine", .count = 2, .switches = 2, .line = kTrunk}};
}

TEST(Hierarchy, ScaleUpTrafficStaysInItsNode) {
  const Topology topology = hierarchy_of(nodes_with_nics(), 16);
  EXPECT_EQ(named_ways(topology, 0, 3), Ways{"npu0 node0 npu3"});
}

// Not over npu1's NIC, though that would be as few cables.
TEST(Hierarchy, ScaleOutTrafficTakesTheSendersNic) {
  const Topology topology = hierarchy_of(nodes_with_nics(), 16);
  EXPECT_EQ(named_ways(topology, 0, 7), Ways{"npu0 leaf0 npu7"});
  EXPECT_EQ(named_ways(topology, 0, 15), (Ways{"npu0 leaf0 spine0.0 leaf1 npu15", "npu0 leaf0 spine0.1 leaf1 npu15"}));
}

// 16 NPUs, 4 nodes, 2 leaves, 2 spines; a cable of each NPU to its node and its leaf, and 2 x 2 above.
TEST(Hierarchy, HasTheCablesOfItsLevels) {
  const Topology topology = hierarchy_of(nodes_with_nics(), 16);
  EXPECT_EQ(topology.switches.size(), 16u + 4 + 2 + 2);
  EXPECT_EQ(topology.cables.size(), 16u + 16 + 4);
  EXPECT_EQ(topology.cables.front().line.rate, kScaleUp.rate);
  EXPECT_EQ(topology.cables.back().line.rate, kTrunk.rate);
}

TEST(Hierarchy, ATreeHasNoRouters) {
  const std::vector<HierarchyLevel> levels = {{.name = "edge", .count = 3, .line = kNic},
                                              {.name = "core", .count = 2, .switches = 1, .cables = 2, .line = kTrunk}};
  EXPECT_FALSE(has_npu_routers(levels));
  const Topology topology = hierarchy_of(levels, 6);
  EXPECT_EQ(topology.switches, (std::vector<std::string>{"edge0", "edge1", "core0"}));
  EXPECT_EQ(topology.cables.size(), 4u);
  EXPECT_EQ(topology.hosts[4].at, SwitchId(1));
  EXPECT_EQ(ways(topology, Routes(topology), SwitchId(0), SwitchId(1)).size(), 4u);
}

// Four planes of switches in a node, as of NVSwitches: the NPU has a cable to each.
TEST(Hierarchy, SeveralSwitchesOfTheLowestLevelNeedRouters) {
  const std::vector<HierarchyLevel> levels = {{.name = "plane", .count = 2, .switches = 4, .line = kScaleUp}};
  EXPECT_TRUE(has_npu_routers(levels));
  EXPECT_EQ(named_ways(hierarchy_of(levels, 2), 0, 1),
            (Ways{"npu0 plane0.0 npu1", "npu0 plane0.1 npu1", "npu0 plane0.2 npu1", "npu0 plane0.3 npu1"}));
}

TEST(Hierarchy, RefusesOtherNumbersOfHosts) {
  EXPECT_THROW(hierarchy_of(nodes_with_nics(), 15), Error);
  EXPECT_THROW(hierarchy_of({}, 1), Error);
  EXPECT_THROW(hierarchy_of({{.name = "edge", .count = 0}}, 0), Error);
}

// Without a path through npu0 nothing joins npu1 with npu2.
TEST(Hierarchy, ACheckFindsNpusThatOnlyOtherNpusWouldJoin) {
  Topology topology;
  for (const char* name : {"npu0", "npu1", "npu2"}) topology.hosts.push_back({topology.add_switch(name), kNic});
  topology.cables = {{SwitchId(1), SwitchId(0), kNic}, {SwitchId(0), SwitchId(2), kNic}};
  EXPECT_NO_THROW(check(topology));
  topology.no_transit = {1, 0, 0};
  EXPECT_THROW(check(topology), Error);
}

}  // namespace
}  // namespace rankwire
