#include "base/measured_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/name_pattern.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> sizes_of(const MeasuredSeries& series) {
  std::vector<int64_t> sizes;
  for (const MeasuredSize& size : measured_sizes(series)) sizes.push_back(size.size.count);
  return sizes;
}

TEST(MeasuredCollective, IsFoundByTheNamesOfBothPrograms) {
  EXPECT_EQ(find_measured("all_reduce"), MeasuredCollective::kAllReduce);
  EXPECT_EQ(find_measured("all_reduce_perf"), MeasuredCollective::kAllReduce);
  EXPECT_EQ(find_measured("alltoall"), MeasuredCollective::kAllToAll);
  EXPECT_EQ(find_measured("alltoallv"), MeasuredCollective::kAllToAllV);
  EXPECT_EQ(find_measured("SendRecv"), MeasuredCollective::kSendRecv);
  EXPECT_EQ(find_measured("all_reduc"), std::nullopt);
  for (const MeasuredTraits& traits : measured_collectives()) {
    EXPECT_EQ(find_measured(traits.name), traits.collective);
    EXPECT_EQ(traits_of(traits.collective).name, traits.name);
  }
}

// 8 x 4^k up to 1000 B: 8, 32, 128, 512.
TEST(MeasuredCollective, SizesGrowByTheFactor) {
  EXPECT_THAT(sizes_of({.smallest = Bytes(8), .largest = Bytes(1000), .factor = 4}), ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(sizes_of({.smallest = Bytes(8), .largest = Bytes(8)}), ElementsAre(8));
}

// 8 + k x 100 up to 300 B: 8, 108, 208. Of 3 ranks each is rounded down to parts of 16 B: 0, 96, 192.
TEST(MeasuredCollective, SizesGrowByTheStep) {
  MeasuredSeries series{.smallest = Bytes(8), .largest = Bytes(300), .step = Bytes(100)};
  EXPECT_THAT(sizes_of(series), ElementsAre(8, 108, 208));
  series.collective = MeasuredCollective::kAllGather;
  series.ranks = 3;
  EXPECT_THAT(sizes_of(series), ElementsAre(96, 192));
}

TEST(MeasuredCollective, SizesEndBeforeTheyOverflow) {
  EXPECT_EQ(sizes_of({.smallest = Bytes(1), .largest = Bytes(8), .step = Bytes(INT64_MAX), .element = Bytes(1)}).size(),
            1u);
  EXPECT_EQ(sizes_of({.smallest = Bytes(1LL << 62), .largest = Bytes(INT64_MAX), .element = Bytes(1)}).size(), 1u);
}

// Parts of whole 16 B, as nccl-tests aligns them: of 3 ranks 48 B at least, 64 B has parts of 16, 128 of 32, 256 of 80.
TEST(MeasuredCollective, DividedSizesAreOfWholeParts) {
  const MeasuredSeries series{
      .collective = MeasuredCollective::kAllGather, .ranks = 3, .smallest = Bytes(8), .largest = Bytes(256)};
  EXPECT_THAT(sizes_of(series), ElementsAre(48, 96, 240));
  // 80 B of 4 B.
  EXPECT_EQ(measured_sizes(series).back().count, 20);
}

TEST(MeasuredCollective, SizesTooSmallForTheRanksLeaveNone) {
  EXPECT_THAT(sizes_of({.collective = MeasuredCollective::kAllToAll, .ranks = 8, .largest = Bytes(127)}),
              ElementsAre());
}

// 4 ranks with 1600 B a part, 6400 B in all: at a spread of 1 distance d has d / 6 of them, 0, 1066.7, 2133.3 and 3200,
// each rounded down to 16 B; at a half the mean of that and 1600, 800, 1333.3, 1866.7 and 2400.
TEST(MeasuredCollective, SpreadPartsGrowWithTheDistance) {
  MeasuredSeries series{.collective = MeasuredCollective::kAllToAllV, .ranks = 4};
  const auto parts = [&] {
    std::vector<int64_t> list;
    for (uint32_t distance = 0; distance < 4; ++distance) list.push_back(spread_part(series, 400, distance).count);
    return list;
  };
  EXPECT_THAT(parts(), ElementsAre(0, 1056, 2128, 3200));
  series.spread = 500'000;
  EXPECT_THAT(parts(), ElementsAre(800, 1328, 1856, 2400));
  series.spread = 0;
  EXPECT_THAT(parts(), ElementsAre(1600, 1600, 1600, 1600));
  // The size is what a rank sends, with the part for itself.
  series = {.collective = MeasuredCollective::kAllToAllV, .ranks = 4, .smallest = Bytes(6400), .largest = Bytes(6400)};
  EXPECT_THAT(sizes_of(series), ElementsAre(0 + 1056 + 2128 + 3200));
}

// nccl-tests, src/*.cu: 1 MB in 1 ms is 1 GB/s, of 4 ranks. Factors: 2 (n - 1) / n = 1.5, (n - 1) / n = 0.75, 1.
TEST(MeasuredCollective, BusBandwidthHasTheFactorsOfNcclTests) {
  const auto bandwidth = [](MeasuredCollective collective) {
    const MeasuredBandwidth of = measured_bandwidth(collective, 4, Bytes(1'000'000), milliseconds(1));
    return std::pair(of.algorithm, of.bus);
  };
  EXPECT_EQ(bandwidth(MeasuredCollective::kAllReduce), std::pair(1.0, 1.5));
  for (const auto collective :
       {MeasuredCollective::kAllGather, MeasuredCollective::kReduceScatter, MeasuredCollective::kAllToAll,
        MeasuredCollective::kAllToAllV, MeasuredCollective::kGather, MeasuredCollective::kScatter})
    EXPECT_EQ(bandwidth(collective), std::pair(1.0, 0.75)) << traits_of(collective).name;
  for (const auto collective :
       {MeasuredCollective::kBroadcast, MeasuredCollective::kReduce, MeasuredCollective::kSendRecv})
    EXPECT_EQ(bandwidth(collective), std::pair(1.0, 1.0)) << traits_of(collective).name;
  EXPECT_EQ(bandwidth(MeasuredCollective::kHypercube), std::pair(0.75, 0.75));
}

TEST(MeasuredCollective, NamesSayWhichCallTheyAre) {
  const std::string name = measured_name(MeasuredCollective::kAllReduce, Bytes(1024), false, 7);
  EXPECT_EQ(name, "all_reduce size=1024 iteration 7");
  const auto call = measured_call(name);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->size, Bytes(1024));
  EXPECT_FALSE(call->is_warm_up);
  EXPECT_EQ(call->number, 7u);
  EXPECT_TRUE(measured_call(measured_name(MeasuredCollective::kReduce, Bytes(8), true, 0))->is_warm_up);
  for (const char* other : {"barrier", "layer3.grads", "x size=", "x size=8", "x size=8 iteration ", "x size=8 pass 1",
                            "x size=8 iteration 1 of 2"})
    EXPECT_FALSE(measured_call(other)) << other;
}

TEST(NamePattern, NumbersAreAlikeButSizesAreNot) {
  const auto pattern = [](std::string_view name) {
    std::string key;
    append_pattern(key, name);
    return key;
  };
  EXPECT_EQ(pattern("layer12.grads3"), "layer#.grads#");
  EXPECT_EQ(pattern("all_reduce size=1024 iteration 7"), "all_reduce size=1024 iteration #");
  EXPECT_EQ(pattern("size=8"), "size=8");
  EXPECT_EQ(pattern("size= 8"), "size= #");
  EXPECT_EQ(pattern("resize=8x9"), "resize=8x#");
}

}  // namespace
}  // namespace rankwire
