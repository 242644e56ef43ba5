// Every algorithm over the model on a star and on fat-trees, against a simulation of the same messages that shares
// nothing with it but the routes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/collective/named_algorithms.h"
#include "tests/simulator/fat_tree.h"
#include "tests/simulator/fluid.h"
#include "tests/simulator/walk.h"

namespace rankwire {
namespace {

std::vector<Schedule> schedules_by(const NamedAlgorithm& named, uint32_t n, Bytes bytes, Bytes chunk) {
  ScheduleRequest request{.operation = named.operation, .members = n, .root = n / 2, .bytes = bytes};
  for (uint32_t i = 0; i < n; ++i) request.hosts.push_back(i / 2);
  if (named.algorithm == Algorithm::kInNetwork) request.aggregation.assign(n + 1, n);  // one aggregator
  return schedules_of(request, options_of(named, 1, chunk));
}

std::vector<NamedAlgorithm> every_algorithm() {
  std::vector<NamedAlgorithm> result = named_algorithms();
  for (const Operation operation :
       {Operation::kAllReduce, Operation::kReduceScatter, Operation::kBroadcast, Operation::kReduce})
    result.push_back({operation, Algorithm::kInNetwork});
  return result;
}

/// With the aggregators of the algorithm.
uint32_t ranks_of(const NamedAlgorithm& named, uint32_t n) {
  return n + (named.algorithm == Algorithm::kInNetwork ? 1 : 0);
}

constexpr uint32_t kGroupSizes[] = {2, 4, 6, 8, 16, 64};
constexpr double kTolerance = 1e-5;  // shares are whole bit/s, times whole ps; 0.1 % is what is asked for
constexpr int64_t kSizes[] = {16 << 10, 16 << 20, 1 << 30};

/// Calls `use(schedules)` for every number of members and every size. Some slices a message, and not so many that large
/// gathers take long.
template <class Use>
void for_each_size(const NamedAlgorithm& named, uint32_t n, Use use) {
  for (const int64_t bytes : kSizes) {
    SCOPED_TRACE(::testing::Message() << n << " members, " << bytes << " bytes");
    use(schedules_by(named, n, Bytes(bytes), Bytes(n == 64 ? bytes : bytes / 4)));
  }
}

class AlgorithmTime : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(AlgorithmTime, IsThatOfTheCriticalPathOnAStar) {
  for (const uint32_t n : kGroupSizes) {
    const Ways ways = star_ways(ranks_of(GetParam(), n));
    for_each_size(GetParam(), n, [&](const std::vector<Schedule>& schedules) {
      const double expected = Fluid(schedules, ways).run();
      EXPECT_NEAR(static_cast<double>(Walk(schedules).run().ps), expected, expected * kTolerance);
    });
  }
}

TEST_P(AlgorithmTime, IsThatOfTheCriticalPathOnAFatTreeWithoutCollisions) {
  for (const uint32_t n : kGroupSizes) {
    const uint32_t all = ranks_of(GetParam(), n);
    const Star ranks = Walk::pairs(all);
    const Network network = RankFatTree(ranks, RankFatTree::ports_for(all), 1).free_of_collisions();
    const Ways ways = ways_of(ranks, network);
    ASSERT_TRUE(is_free_of_collisions(ways)) << n;
    for_each_size(GetParam(), n, [&](const std::vector<Schedule>& schedules) {
      const double expected = Fluid(schedules, ways).run();
      EXPECT_NEAR(static_cast<double>(Walk(schedules, ranks, network).run().ps), expected, expected * kTolerance);
    });
  }
}

/// Rings of several channels, in other orders and in both directions.
struct RingVariant {
  const char* name;
  RingOrder order = RingOrder::kAscending;
  RingDirection direction = RingDirection::kForward;
  uint32_t channels = 1;
};

class RingVariantTime : public ::testing::TestWithParam<RingVariant> {};

TEST_P(RingVariantTime, IsThatOfTheCriticalPath) {
  const RingVariant& variant = GetParam();
  for (const Operation operation : {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather})
    for (const uint32_t n : {2, 4, 6, 16}) {
      const Star ranks = Walk::pairs(n);
      const Network tree = RankFatTree(ranks, RankFatTree::ports_for(n), 1).free_of_collisions();
      for (const int64_t bytes : kSizes) {
        ScheduleOptions options = options_of({operation, Algorithm::kRing}, variant.channels, Bytes(bytes / 4));
        options.ring_order = variant.order, options.ring_direction = variant.direction;
        ScheduleRequest request{.operation = operation, .members = n, .bytes = Bytes(bytes)};
        // 0, n - 1, 1, n - 2 ..
        for (uint32_t i = 0; i < n && variant.order == RingOrder::kListed; ++i)
          request.ring.push_back(i % 2 == 0 ? i / 2 : n - 1 - i / 2);
        const std::vector<Schedule> schedules = schedules_of(request, options);
        for (const Network& network : {ranks.network(), tree}) {
          const double expected = Fluid(schedules, ways_of(ranks, network)).run();
          EXPECT_NEAR(static_cast<double>(Walk(schedules, ranks, network).run().ps), expected, expected * kTolerance)
              << to_string(operation) << ", " << n << " members, " << bytes << " bytes";
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Rings, RingVariantTime,
    ::testing::Values(RingVariant{"descending", RingOrder::kDescending},
                      RingVariant{"interleaved", RingOrder::kInterleaved}, RingVariant{"listed", RingOrder::kListed},
                      RingVariant{.name = "bidirectional", .direction = RingDirection::kBidirectional},
                      RingVariant{.name = "two_channels", .channels = 2}),
    [](const auto& variant) { return variant.param.name; });

/// A full fat-tree in which hashes lead several connections over one cable.
struct Crowded {
  explicit Crowded(uint32_t ranks)
      : pairs(Walk::pairs(ranks)), network(tree(pairs).by_hash(ranks)), ways(ways_of(pairs, network)) {}

  static RankFatTree tree(const Star& pairs) {
    uint32_t k = 2;
    while (k * k * k / 4 < pairs.plan().ranks) k += 2;
    return RankFatTree(pairs, k, k / 2);
  }
  double modelled(const std::vector<Schedule>& schedules) const {
    return static_cast<double>(Walk(schedules, pairs, network).run().ps);
  }

  Star pairs;
  Network network;
  Ways ways;
};

void expect_same_on_crowded(const NamedAlgorithm& named, uint32_t n) {
  const Crowded fabric(ranks_of(named, n));
  EXPECT_EQ(is_free_of_collisions(fabric.ways), n <= 2) << n;
  for_each_size(named, n, [&](const std::vector<Schedule>& schedules) {
    const double expected = Fluid(schedules, fabric.ways).run();
    EXPECT_NEAR(fabric.modelled(schedules), expected, expected * kTolerance);
  });
}

constexpr NamedAlgorithm kPairwise{Operation::kAllToAll, Algorithm::kPairwise};
constexpr uint32_t kLargest = 64;

/// For the pairwise exchange see AlgorithmEcmpOf64Pairwise.
std::vector<NamedAlgorithm> well_conditioned_algorithms() {
  std::vector<NamedAlgorithm> result = every_algorithm();
  std::erase_if(result, [](const NamedAlgorithm& named) { return named.algorithm == Algorithm::kPairwise; });
  return result;
}

class AlgorithmEcmp : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(AlgorithmEcmp, IsThatOfMaxMinOnTheSameRoutes) {
  for (const uint32_t n : kGroupSizes)
    if (n < kLargest) expect_same_on_crowded(GetParam(), n);
}

class AlgorithmEcmpOf64 : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(AlgorithmEcmpOf64, IsThatOfMaxMinOnTheSameRoutes) {
  expect_same_on_crowded(GetParam(), kLargest);
}

// 63 exchanges one after another, in which whoever is early takes from others what makes them late, are
// ill-conditioned: a hundredth of a byte, a message, is some 1 % in the end, in whichever simulation. The model rounds
// to whole ps, in which a link carries 0.0125 bytes, so it may differ from one by as much as they do from each other,
// and by no more.
TEST(AlgorithmEcmpOf64Pairwise, IsAsSureAsItCanBe) {
  const Crowded fabric(kLargest);
  double scatter = 0, difference = 0;
  for_each_size(kPairwise, kLargest, [&](const std::vector<Schedule>& schedules) {
    const double expected = Fluid(schedules, fabric.ways).run();
    for (const uint64_t seed : {1, 2, 3, 4})
      scatter = std::max(scatter, std::abs(Fluid(schedules, fabric.ways, 0.0125, seed).run() / expected - 1));
    difference = std::max(difference, std::abs(fabric.modelled(schedules) / expected - 1));
  });
  std::printf("disturbed %.4f %%, modelled %.4f %% off\n", 100 * scatter, 100 * difference);
  EXPECT_GT(scatter, 100 * kTolerance);
  EXPECT_LT(scatter, 0.02);
  EXPECT_LT(difference, 1.5 * scatter);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AlgorithmEcmp, ::testing::ValuesIn(every_algorithm()), name_of);
INSTANTIATE_TEST_SUITE_P(Algorithms, AlgorithmEcmpOf64, ::testing::ValuesIn(well_conditioned_algorithms()), name_of);
INSTANTIATE_TEST_SUITE_P(Algorithms, AlgorithmTime, ::testing::ValuesIn(every_algorithm()), name_of);

/// The time of the steps one after another, if a step's messages are alone at their ports: each takes its time on the
/// line, its way, and `between` before the next can begin.
Duration in_turn(const std::vector<int64_t>& messages, Duration between = Duration()) {
  Duration sum = between * -1;
  for (const int64_t bytes : messages) sum += line_time(Bytes(bytes)) + tail(Bytes(bytes)) + between;
  return sum;
}

// 8 members, 64 KB in one slice: halves of 32, 16, 8 KB there and 8, 16, 32 KB back.
TEST(AlgorithmTimes, HalvingDoublingTakesItsHalves) {
  EXPECT_EQ(
      Walk(schedules_by({Operation::kAllReduce, Algorithm::kHalvingDoubling}, 8, Bytes(64'000), Bytes(64'000))).run(),
      in_turn({32'000, 16'000, 8'000, 8'000, 16'000, 32'000}));
}

// What is being sent may only be added to when it has been acknowledged, one way later than it is delivered.
TEST(AlgorithmTimes, RecursiveDoublingWaitsForAcknowledgements) {
  EXPECT_EQ(
      Walk(schedules_by({Operation::kAllReduce, Algorithm::kRecursiveDoubling}, 8, Bytes(64'000), Bytes(64'000))).run(),
      in_turn({64'000, 64'000, 64'000}, kOneWay));
}

// Of 8 members, 1, 2 and 4 blocks, each step all that has come before.
TEST(AlgorithmTimes, BruckGathersInThreeSteps) {
  EXPECT_EQ(Walk(schedules_by({Operation::kAllGather, Algorithm::kBruck}, 8, Bytes(16'000), Bytes(64'000))).run(),
            in_turn({16'000, 32'000, 64'000}));
}

// Member s sends 16 KB less 1 KB times the distance s ^ d to d: 15 KB at distance 1, .. 9 KB at distance 7; 3 sends 4
// nothing at distance 7, but the others do.
TEST(AlgorithmTimes, PairwiseTakesTheLargestOfEveryStep) {
  constexpr uint32_t kMembers = 8;
  std::vector<Bytes> blocks{Bytes(0)};
  for (uint32_t s = 0; s < kMembers; ++s)
    for (uint32_t d = 0; d < kMembers; ++d)
      blocks.push_back(blocks.back() + Bytes(s == 3 && d == 4 ? 0 : 16'000 - 1'000 * (s ^ d)));
  const ScheduleRequest request = with_blocks({.operation = Operation::kAllToAll, .members = kMembers}, blocks);
  const auto schedules =
      schedules_of(request, options_of({Operation::kAllToAll, Algorithm::kPairwise}, 1, Bytes(64'000)));
  EXPECT_EQ(Walk(schedules).run(), in_turn({15'000, 14'000, 13'000, 12'000, 11'000, 10'000, 9'000}, kOneWay));
}

// At once member 0 sends 3 MB, and all others little: what the port of the busiest takes.
TEST(AlgorithmTimes, DirectTakesWhatTheBusiestSends) {
  std::vector<Bytes> blocks{Bytes(0)};
  for (uint32_t s = 0; s < 4; ++s)
    for (uint32_t d = 0; d < 4; ++d) blocks.push_back(blocks.back() + Bytes(s == 0 && d > 0 ? 1'000'000 : 0));
  const ScheduleRequest request = with_blocks({.operation = Operation::kAllToAll, .members = 4}, blocks);
  const auto schedules =
      schedules_of(request, options_of({Operation::kAllToAll, Algorithm::kDirect}, 1, Bytes(1'000'000)));
  const Duration expected = line_time(Bytes(1'000'000)) * 3 + tail(Bytes(1'000'000));
  EXPECT_NEAR(static_cast<double>(Walk(schedules).run().ps), static_cast<double>(expected.ps), 10);
}

// Pairs of members exchange an eighth of the input 7 times; the next exchange begins when the last is acknowledged.
TEST(AlgorithmTimes, PairwiseExchangesOneAfterAnother) {
  EXPECT_EQ(Walk(schedules_by({Operation::kAllToAll, Algorithm::kPairwise}, 8, Bytes(64'000), Bytes(64'000))).run(),
            in_turn(std::vector<int64_t>(7, 8'000), kOneWay));
}

}  // namespace
}  // namespace rankwire
