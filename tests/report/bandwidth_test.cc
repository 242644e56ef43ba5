#include "emulator/report/bandwidth.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

struct Row {
  const char* kind;
  double algorithm, bus;
};

class BandwidthOfKind : public ::testing::TestWithParam<Row> {};

// n = 4 members, input 1,000,000 B each, t = 80 us: input / t = 8,000,000 bit / 80 us = 100 Gbit/s.
// S = input, except all-gather and gather where S = 4 x input: 400 Gbit/s. Factors for n = 4: 2 x 3/4 = 1.5, 3/4, 1.
TEST_P(BandwidthOfKind, FollowsNcclTests) {
  const NodeInfo node{.kind = GetParam().kind, .group_size = 4, .bytes = Bytes(1'000'000)};
  const auto bandwidth = operation_bandwidth(node, microseconds(80));
  ASSERT_TRUE(bandwidth);
  EXPECT_DOUBLE_EQ(bandwidth->algorithm, GetParam().algorithm);
  EXPECT_DOUBLE_EQ(bandwidth->bus, GetParam().bus);
}

INSTANTIATE_TEST_SUITE_P(All, BandwidthOfKind,
                         ::testing::Values(Row{"all_reduce", 100, 150}, Row{"all_gather", 400, 300},
                                           Row{"gather", 400, 300}, Row{"reduce_scatter", 100, 75},
                                           Row{"reduce_scatter_block", 100, 75}, Row{"all_to_all", 100, 75},
                                           Row{"scatter", 100, 75}, Row{"broadcast", 100, 100}, Row{"reduce", 100, 100},
                                           Row{"send", 100, 100}, Row{"receive", 100, 100}),
                         [](const auto& param) { return std::string(param.param.kind); });

// A ring all-reduce of n = 2 on a line of rate B takes S / B, so that busbw must be B: the point of the bus bandwidth.
TEST(Bandwidth, BusBandwidthIsTheLineRateOfAnIdealRing) {
  const NodeInfo node{.kind = "all_reduce", .group_size = 2, .bytes = Bytes(1'250'000)};
  EXPECT_DOUBLE_EQ(operation_bandwidth(node, microseconds(100))->bus, 100.0);
}

TEST(Bandwidth, IsAbsentWithoutBytesTimeOrMeaning) {
  EXPECT_FALSE(operation_bandwidth({.kind = "all_reduce", .group_size = 2, .bytes = Bytes(8)}, Duration(0)));
  EXPECT_FALSE(operation_bandwidth({.kind = "barrier", .group_size = 2, .bytes = Bytes(0)}, Duration(5)));
  EXPECT_FALSE(operation_bandwidth({.kind = "compute", .bytes = Bytes(8)}, Duration(5)));
}

}  // namespace
}  // namespace rankwire
