#include "fabric/dragonfly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "tests/fabric/walks.h"

namespace rankwire {
namespace {

constexpr Line kTerminal{Bandwidth(100'000'000'000), nanoseconds(100)};
constexpr Line kLocal{Bandwidth(200'000'000'000), nanoseconds(200)};
constexpr Line kGlobal{Bandwidth(400'000'000'000), nanoseconds(900)};

Topology dragonfly_of(uint32_t groups, uint32_t routers, uint32_t links) {
  const Dragonfly shape{groups, routers, 2, links, kLocal, kGlobal};
  Topology topology = dragonfly(shape, std::vector<Line>(size_t{2} * groups * routers, kTerminal));
  check(topology);
  return topology;
}

bool is_global(const Topology& topology, SwitchId a, SwitchId b) {
  const auto group = [&](SwitchId s) {
    return topology.switches[s.value].substr(0, topology.switches[s.value].find('.'));
  };
  return group(a) != group(b);
}

/// The global cables of every router, and between any two groups.
struct Counts {
  std::map<uint32_t, uint32_t> of_router;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_groups;
};

Counts global_cables(const Topology& topology, uint32_t routers) {
  Counts counts;
  for (const Cable& cable : topology.cables) {
    if (!is_global(topology, cable.a, cable.b)) continue;
    EXPECT_EQ(cable.line.rate, kGlobal.rate);
    ++counts.of_router[cable.a.value];
    ++counts.of_router[cable.b.value];
    ++counts.of_groups[std::minmax(cable.a.value / routers, cable.b.value / routers)];
  }
  return counts;
}

// Kim et al.'s balanced one with h = 2: a = 4, g = a h + 1 = 9. 6 cables in each group, 36 pairs of groups.
TEST(Dragonfly, OfTheLargestSizeJoinsEveryTwoGroupsOnce) {
  const Topology topology = dragonfly_of(9, 4, 2);
  EXPECT_EQ(topology.cables.size(), 9u * 6 + 36);
  const Counts counts = global_cables(topology, 4);
  EXPECT_EQ(counts.of_groups.size(), 36u);
  for (const auto& [pair, cables] : counts.of_groups) EXPECT_EQ(cables, 1u);
  EXPECT_EQ(counts.of_router.size(), 36u);
  for (const auto& [router, cables] : counts.of_router) EXPECT_EQ(cables, 2u);
}

// Port 1 of router 2 of group 4 is number 5: it leads to group 4 - 1 - 5 = -2 = 7 of 9. From there group 4 is 7 - 1 - j
// = 4 with j = 2: router 1.
TEST(Dragonfly, IsArrangedAsAPalmTree) {
  const Topology topology = dragonfly_of(9, 4, 2);
  const SwitchId from(4 * 4 + 2), to(7 * 4 + 1);
  const auto joins = [&](const Cable& cable) {
    return (cable.a == from && cable.b == to) || (cable.a == to && cable.b == from);
  };
  EXPECT_EQ(std::ranges::count_if(topology.cables, joins), 1);
}

// 4 x 2 ports and 3 other groups: two rounds, and 2 ports of a group empty.
TEST(Dragonfly, WithFewGroupsGoesRoundAgain) {
  const Counts counts = global_cables(dragonfly_of(4, 4, 2), 4);
  EXPECT_EQ(counts.of_groups.size(), 6u);
  for (const auto& [pair, cables] : counts.of_groups) EXPECT_EQ(cables, 2u);
  for (const auto& [router, cables] : counts.of_router) EXPECT_LE(cables, 2u);
}

// Where two global cables would have been fewer than three, too.
TEST(Dragonfly, PathsAreMinimal) {
  const Topology topology = dragonfly_of(9, 4, 2);
  const Routes routes(topology);
  for (uint32_t from = 0; from < 36; ++from) {
    for (uint32_t to = 0; to < 36; ++to) {
      const auto found = ways(topology, routes, SwitchId(from), SwitchId(to));
      ASSERT_EQ(found.size(), 1u) << "one cable between any two groups leaves one way";
      uint32_t global = 0;
      for (size_t i = 1; i < found[0].size(); ++i) global += is_global(topology, found[0][i - 1], found[0][i]) ? 1 : 0;
      EXPECT_EQ(global, from / 4 == to / 4 ? 0u : 1u);
      EXPECT_LE(found[0].size(), 4u);
    }
  }
}

TEST(Dragonfly, RefusesWhatItCannotJoin) {
  EXPECT_THROW(dragonfly_of(10, 4, 2), Error);
  EXPECT_THROW(dragonfly_of(0, 4, 2), Error);
  EXPECT_THROW(
      dragonfly({.groups = 3, .routers = 2, .router_hosts = 1, .global_links = 1, .local = kLocal, .global = kGlobal},
                std::vector<Line>(7, kTerminal)),
      Error);
  EXPECT_EQ(dragonfly_of(1, 4, 0).cables.size(), 6u);
}

}  // namespace
}  // namespace rankwire
