#include "emulator/workload/traffic_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr uint64_t kSeed = 1;

bool all_but_themselves(uint32_t a, uint32_t b) {
  return a != b;
}

TEST(TrafficPattern, PairsGoOneToOne) {
  const std::vector<uint32_t> from{4, 2}, to{1, 2};
  EXPECT_THAT(traffic_pairs(TrafficPattern::kPairs, {.from = from, .to = to, .meet = all_but_themselves}, kSeed),
              ElementsAre(Pair(4, 1), Pair(2, 2)));
}

TEST(TrafficPattern, AllToAllLeavesOutWhoDoesNotMeet) {
  const std::vector<uint32_t> ends{0, 1, 2};
  EXPECT_THAT(traffic_pairs(TrafficPattern::kAllToAll, {.from = ends, .to = ends, .meet = all_but_themselves}, kSeed),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 0), Pair(1, 2), Pair(2, 0), Pair(2, 1)));
}

TEST(TrafficPattern, IncastGoesToOne) {
  const std::vector<uint32_t> from{3, 1}, to{0};
  EXPECT_THAT(traffic_pairs(TrafficPattern::kIncast, {.from = from, .to = to, .meet = all_but_themselves}, kSeed),
              ElementsAre(Pair(3, 0), Pair(1, 0)));
}

TEST(TrafficPattern, APermutationIsOneCircleOfAll) {
  const std::vector<uint32_t> ends{0, 1, 2, 3, 4, 5, 6, 7};
  const TrafficEnds all{.from = ends, .to = {}, .meet = all_but_themselves};
  const auto pairs = traffic_pairs(TrafficPattern::kPermutation, all, kSeed);
  ASSERT_THAT(pairs, SizeIs(8));
  std::set<uint32_t> met;
  uint32_t at = 0;
  for (size_t hops = 0; hops < ends.size(); ++hops) {
    EXPECT_EQ(pairs[at].first, at);
    at = pairs[at].second;
    met.insert(at);
  }
  EXPECT_EQ(at, 0u);
  EXPECT_THAT(met, SizeIs(8));
  EXPECT_EQ(traffic_pairs(TrafficPattern::kPermutation, all, kSeed), pairs);
  EXPECT_NE(traffic_pairs(TrafficPattern::kPermutation, all, kSeed + 1), pairs);
}

TEST(TrafficPattern, RandomPairsAreOfThoseThatMeet) {
  const std::vector<uint32_t> ends{0, 1, 2, 3};
  const TrafficEnds drawn{.from = ends, .to = ends, .pairs = 100, .meet = [](uint32_t a, uint32_t b) { return a < b; }};
  const auto pairs = traffic_pairs(TrafficPattern::kRandomPairs, drawn, kSeed);
  ASSERT_THAT(pairs, SizeIs(100));
  for (const auto& [from, to] : pairs) EXPECT_LT(from, to);
  // Of 6 pairs one is missing among 100 with a probability of 6 * (5/6)^100 = 7e-8.
  EXPECT_THAT((std::set(pairs.begin(), pairs.end())), SizeIs(6));
  EXPECT_EQ(traffic_pairs(TrafficPattern::kRandomPairs, drawn, kSeed), pairs);
}

TEST(TrafficPattern, WhereNobodyMeetsNobodyIsDrawn) {
  const std::vector<uint32_t> ends{0, 1};
  const TrafficEnds none{.from = ends, .to = ends, .pairs = 3, .meet = [](uint32_t, uint32_t) { return false; }};
  EXPECT_THAT(traffic_pairs(TrafficPattern::kRandomPairs, none, kSeed), IsEmpty());
}

}  // namespace
}  // namespace rankwire
