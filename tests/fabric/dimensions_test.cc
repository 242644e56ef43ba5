#include "fabric/dimensions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "tests/fabric/walks.h"

namespace rankwire {
namespace {

constexpr Line kNpuLine{Bandwidth(100'000'000'000), nanoseconds(500)};

Topology dimensions_of(const std::vector<Dimension>& shape, bool dimension_order = false) {
  size_t npus = 1;
  for (const Dimension& dimension : shape) npus *= dimension.extent;
  Topology topology = dimensions(shape, std::vector<Line>(npus, kNpuLine), dimension_order);
  check(topology);
  return topology;
}

Dimension of(DimensionKind kind, uint32_t extent) {
  return {kind, extent, kNpuLine};
}

Dimension ring(uint32_t extent) {
  return of(DimensionKind::kRing, extent);
}

// 4 x 3 x 2: 6 rings of 4 cables, 8 of 3, and 12 pairs with one cable each.
TEST(Dimensions, ATorusHasTheCablesOfItsRings) {
  const std::vector<Dimension> shape = {ring(4), ring(3), ring(2)};
  const Topology torus = dimensions_of(shape);
  EXPECT_EQ(torus.switches.size(), 24u);
  EXPECT_EQ(torus.cables.size(), 6u * 4 + 8 * 3 + 12);
  EXPECT_EQ(torus.switches[4 * 3 + 4 * 2 + 3], "npu3.2.1");
  EXPECT_EQ(most_cables(shape), 2u + 2 + 1);
  for (uint32_t h = 0; h < 24; ++h) EXPECT_EQ(cable_rate_at(torus, h).bits_per_second, 5 * 100'000'000'000);
}

// The length of every path is the sum over the dimensions of the shorter way round (Lee distance), or of the difference
// in a mesh.
TEST(Dimensions, PathsAreAsLongAsTheCoordinatesAreApart) {
  for (const DimensionKind kind : {DimensionKind::kRing, DimensionKind::kLine}) {
    for (const bool dimension_order : {false, true}) {
      const uint32_t x = 5, y = 4, z = 2;
      const Topology grid = dimensions_of({of(kind, x), of(kind, y), of(kind, z)}, dimension_order);
      const Routes routes(grid);
      const auto apart = [&](uint32_t a, uint32_t b, uint32_t extent) {
        const auto direct = static_cast<uint32_t>(std::abs(static_cast<int>(a) - static_cast<int>(b)));
        return kind == DimensionKind::kRing ? std::min(direct, extent - direct) : direct;
      };
      for (uint32_t to = 0; to < x * y * z; ++to) {
        const uint32_t expected =
            apart(1, to % x, x) + apart(2, to / x % y, y) + apart(0, to / (x * y), z);  // from 1, 2, 0
        for (const auto& way : ways(grid, routes, SwitchId(1 + 2 * x), SwitchId(to))) {
          ASSERT_EQ(way.size(), expected + 1) << "to " << to;
        }
      }
    }
  }
}

TEST(Dimensions, DimensionOrderGoesAlongTheFirstDimensionFirst) {
  const std::vector<Dimension> shape = {ring(4), ring(4)};
  EXPECT_EQ(named_ways(dimensions_of(shape, true), 0, 5), Ways{"npu0.0 npu1.0 npu1.1"});
  EXPECT_EQ(named_ways(dimensions_of(shape, false), 0, 5), (Ways{"npu0.0 npu1.0 npu1.1", "npu0.0 npu0.1 npu1.1"}));
  EXPECT_EQ(named_ways(dimensions_of(shape, true), 5, 0), Ways{"npu1.1 npu0.1 npu0.0"});
}

// Opposite in dimension 0 of 4: both ways round, between which the hash chooses at the first router alone.
TEST(Dimensions, DimensionOrderLeavesBothWaysToTheOppositeSide) {
  EXPECT_EQ(named_ways(dimensions_of({ring(4), ring(3)}, true), 0, 6),
            (Ways{"npu0.0 npu1.0 npu2.0 npu2.1", "npu0.0 npu3.0 npu2.0 npu2.1"}));
}

TEST(Dimensions, AMeshDoesNotWrapAround) {
  EXPECT_EQ(named_ways(dimensions_of({ring(5)}), 0, 4), Ways{"npu0 npu4"});
  const std::vector<Dimension> shape = {of(DimensionKind::kLine, 5)};
  EXPECT_EQ(named_ways(dimensions_of(shape), 0, 4), Ways{"npu0 npu1 npu2 npu3 npu4"});
  EXPECT_EQ(cable_rate_at(dimensions_of(shape), 0).bits_per_second, 100'000'000'000);
}

TEST(Dimensions, FullyConnectedNpusAreNeighbours) {
  const Topology topology = dimensions_of({of(DimensionKind::kFullyConnected, 6)});
  EXPECT_EQ(topology.cables.size(), 15u);
  EXPECT_EQ(named_ways(topology, 2, 5), Ways{"npu2 npu5"});
}

// A ring of 4 in each of 2 scale-up domains, whose NPUs of the same place meet in a switch.
TEST(Dimensions, SwitchesJoinTheNpusOfOtherDimensions) {
  const Topology topology = dimensions_of({ring(4), of(DimensionKind::kSwitch, 2)}, true);
  EXPECT_EQ(topology.switches.size(), 8u + 4);
  EXPECT_EQ(topology.cables.size(), 8u + 8);
  EXPECT_EQ(named_ways(topology, 0, 5), Ways{"npu0.0 npu1.0 dimension1.switch1 npu1.1"});
}

TEST(Dimensions, ExtentsOfOneAreNothing) {
  EXPECT_EQ(dimensions_of({ring(1), ring(3), of(DimensionKind::kSwitch, 1)}).cables.size(), 3u);
}

TEST(Dimensions, RefusesOtherNumbersOfHosts) {
  const std::vector<Dimension> shape = {ring(4), ring(2)};
  EXPECT_THROW(dimensions(shape, std::vector<Line>(7, kNpuLine), false), Error);
  EXPECT_THROW(dimensions(std::vector<Dimension>{}, std::vector<Line>(1, kNpuLine), false), Error);
  EXPECT_THROW(dimensions(std::vector<Dimension>{ring(0)}, {}, false), Error);
}

}  // namespace
}  // namespace rankwire
