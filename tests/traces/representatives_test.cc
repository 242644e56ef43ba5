#include "emulator/traces/representatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

/// Of one number x, so that log2(1 + x) is `place`.
SetFeatures at(const std::string& name, double place, int64_t bytes = 0) {
  return {.name = name, .values = {{"x", std::exp2(place) - 1}}, .bytes = Bytes(bytes)};
}

// Three at 1, 2 and 3, whose middle one is nearest to both, and two at 10 and 11, which are as good as each other.
TEST(Representatives, AreTheMiddlesOfClusters) {
  const std::vector<SetFeatures> sets = {at("a", 1, 10), at("far", 10, 500), at("b", 2, 20), at("c", 3, 30),
                                         at("further", 11, 700)};
  const Representatives two = choose_representatives(sets, 2);
  ASSERT_EQ(two.chosen.size(), 2u);
  EXPECT_EQ(two.chosen[0].set, 2u);
  EXPECT_THAT(two.chosen[0].stands_for, ElementsAre(0, 2, 3));
  EXPECT_NEAR(two.chosen[0].mean_distance, 2.0 / 3, 1e-9);
  EXPECT_NEAR(two.chosen[0].largest_distance, 1, 1e-9);
  EXPECT_THAT(two.chosen[1].stands_for, ElementsAre(1, 4));
  EXPECT_NEAR(two.mean_distance, 3.0 / 5, 1e-9);
  // The best single one is c: 2 + 7 + 1 + 0 + 8 = 18.
  EXPECT_NEAR(two.coverage, 1 - 3.0 / 18, 1e-9);
  EXPECT_NEAR(two.weighted_bytes(sets), 3 * 20 + 2 * static_cast<double>(sets[two.chosen[1].set].bytes.count), 1e-9);
}

// The greedy choice begins with the middle, 5, which is no good beside any other one: 0 and 10 are left in the end.
TEST(Representatives, AreExchangedForBetterOnes) {
  const std::vector<SetFeatures> sets = {at("a", 0), at("a", 0), at("m", 5), at("b", 10), at("b", 10)};
  const Representatives two = choose_representatives(sets, 2);
  EXPECT_NEAR(two.mean_distance, 1, 1e-9);
  EXPECT_NEAR(two.coverage, 0.75, 1e-9);
}

TEST(Representatives, AreAsFewAsCover) {
  const std::vector<SetFeatures> sets = {at("a", 1), at("a", 1), at("b", 5), at("b", 5), at("c", 9), at("c", 9)};
  EXPECT_EQ(choose_by_coverage(sets, 0).chosen.size(), 1u);
  EXPECT_EQ(choose_by_coverage(sets, 0.6).chosen.size(), 3u);  // two of three clusters leave 8 of 16: a half
  EXPECT_EQ(choose_by_coverage(sets, 0.49).chosen.size(), 2u);
  const std::vector<SetFeatures> equal = {at("a", 1), at("b", 1)};
  const Representatives alike = choose_by_coverage(equal, 1);
  EXPECT_EQ(alike.chosen.size(), 1u);
  EXPECT_EQ(alike.coverage, 1);
}

TEST(Representatives, AreTheSetsThemselvesWhereAllAreWanted) {
  const std::vector<SetFeatures> sets = {at("a", 1), at("a", 1), at("b", 5)};
  const Representatives all = choose_representatives(sets, 3);
  EXPECT_EQ(all.chosen.size(), 3u);
  EXPECT_EQ(all.mean_distance, 0);
  EXPECT_THROW(choose_representatives(sets, 4), Error);
}

// Equal sets have the same features in whatever order; what a set lacks counts as 0.
TEST(Representatives, SeeWhatOthersDoNotHave) {
  const std::vector<SetFeatures> sets = {at("a", 3), {.name = "b", .values = {{"y", 15}}, .bytes = {}}};
  // Squares of 3 and of log2 16 = 4.
  EXPECT_NEAR(choose_representatives(sets, 1).mean_distance, 5.0 / 2, 1e-9);
}

}  // namespace
}  // namespace rankwire
