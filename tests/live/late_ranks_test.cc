#include "emulator/live/late_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

/// Five ranks of job "train" with 100 executions each, and one of job "serve", which is alone there.
LiveFeed feed() {
  std::vector<LiveFeed::Rank> ranks(6, {.name = "r", .job = JobId(0), .operations = 100, .nodes = {0, 1, 0}});
  ranks[5].job = JobId(1);
  return {"emulated", {}, {{"train", 1}, {"serve", 1}}, 600, 1, std::move(ranks), {"compute", "reduce"}};
}

LiveFigures figures(std::vector<RankProgress> ranks) {
  return {.now = Time() + seconds(10), .jobs = std::vector<LiveJob>(2), .ports = {}, .ranks = std::move(ranks)};
}

Time at(int64_t s) {
  return Time() + seconds(s);
}

TEST(LateRanks, NamesTheOneFurthestBehindTheMedianOfItsJob) {
  const auto late = late_ranks(
      feed(), figures({{50, at(9), 0}, {47, at(6), 1}, {50, at(8), 0}, {51, at(9), 0}, {49, at(7), 0}, {1, at(1), 0}}));
  ASSERT_EQ(late.size(), 2u);
  ASSERT_TRUE(late[0]);
  EXPECT_EQ(late[0]->rank, RankId(1));
  EXPECT_EQ(late[0]->operation, "reduce");
  EXPECT_EQ(late[0]->operations, 3u) << "the median of 47, 49, 50, 50, 51 is 50";
  EXPECT_EQ(late[0]->silent, seconds(4));
  EXPECT_EQ(late[0]->behind, seconds(2)) << "of the ranks with 50 the one that ended its last first is in the middle";
  EXPECT_FALSE(late[1]) << "it is the median itself";
}

TEST(LateRanks, NobodyIsLateWhereAllAreAsFar) {
  EXPECT_THAT(late_ranks(feed(), figures(std::vector<RankProgress>(6, {7, at(3), 2}))),
              ElementsAre(Eq(std::nullopt), Eq(std::nullopt)));
}

// A stage of a pipeline has fewer nodes than others, and is as far when the same part of them has ended.
TEST(LateRanks, ComparesPartsOfWhatRanksHaveToDo) {
  std::vector<LiveFeed::Rank> ranks(3, {.name = "r", .operations = 300, .nodes = {}});
  ranks[2].operations = 100;
  const LiveFeed of_stages("emulated", {}, {{"train", 1}}, 700, 1, ranks, {});
  EXPECT_FALSE(late_ranks(of_stages, figures({{30, at(9), 0}, {30, at(9), 0}, {10, at(9), 0}}))[0]);
  const auto late = late_ranks(of_stages, figures({{30, at(9), 0}, {30, at(9), 0}, {9, at(9), 0}}));
  ASSERT_TRUE(late[0]);
  EXPECT_EQ(late[0]->rank, RankId(2));
  EXPECT_EQ(late[0]->operations, 1u);
  EXPECT_EQ(late[0]->operation, "") << "names are not known";
  // 29 of 300 are less than one of its 100 behind.
  EXPECT_FALSE(late_ranks(of_stages, figures({{32, at(9), 0}, {32, at(9), 0}, {10, at(9), 0}}))[0]);
}

// One that has not ended anything is late, too.
TEST(LateRanks, KnowsNoOperationOfWhoHasEndedNone) {
  std::vector<RankProgress> ranks(6, {4, at(3), 2});
  ranks[3] = {};
  const auto late = late_ranks(feed(), figures(ranks));
  ASSERT_TRUE(late[0]);
  EXPECT_EQ(late[0]->rank, RankId(3));
  EXPECT_EQ(late[0]->operation, "");
  EXPECT_EQ(late[0]->silent, seconds(10));
}

}  // namespace
}  // namespace rankwire
