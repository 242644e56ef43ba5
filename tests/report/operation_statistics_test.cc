#include "emulator/report/operation_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/activity.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

OperationRow row_of(uint32_t rank, const std::string& name, const std::string& kind, Duration emulated,
                    Duration reference) {
  OperationRow row{.node = testing::sample_node(rank, 1, name, kind)};
  row.emulated = {Time(0), Time(emulated.ps)};
  row.reference = {Time(0), Time(reference.ps)};
  return row;
}

std::vector<std::string> names_of(const std::vector<OperationRow>& rows) {
  std::vector<std::string> names;
  for (const OperationRow& row : rows) names.push_back(row.node.name);
  return names;
}

// Emulated 10, 20, 30 us against 5 us: mean 20, ratio 4. All-reduces of 2 ranks and 8,000,000 bit each, factor 1: 24
// Mbit in 60 us are 400 Gbit/s.
TEST(OperationStatistics, GroupsNamesThatDifferInNumbersOnly) {
  OperationStatistics statistics(10);
  statistics.add(row_of(0, "layer7.mb1", "all_reduce", microseconds(20), microseconds(5)));
  statistics.add(row_of(0, "layer12.mb1", "all_reduce", microseconds(10), microseconds(5)));
  statistics.add(row_of(0, "layer0.mb10", "all_reduce", microseconds(30), microseconds(5)));
  const auto groups = statistics.groups(10);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0]->name, "layer#.mb#");
  EXPECT_EQ(groups[0]->count, 3u);
  EXPECT_EQ(groups[0]->emulated.duration(), microseconds(20));
  EXPECT_DOUBLE_EQ(*groups[0]->ratio(), 4.0);
  EXPECT_EQ(groups[0]->worst, microseconds(30));
  EXPECT_DOUBLE_EQ(*groups[0]->bus.gbps(), 400.0);
}

TEST(OperationStatistics, ListsTheWorstRankOfEachCommunication) {
  OperationStatistics statistics(10);
  statistics.add(row_of(0, "a", "all_reduce", microseconds(150), microseconds(100)));
  statistics.add(row_of(1, "a", "all_reduce", microseconds(170), microseconds(100)));
  statistics.add(row_of(2, "a", "all_reduce", microseconds(160), microseconds(100)));
  statistics.add(row_of(3, "b", "send", microseconds(190), microseconds(100)));
  const auto deviations = statistics.deviations();
  EXPECT_THAT(names_of(deviations), ElementsAre("b", "a"));
  EXPECT_EQ(deviations[1].node.rank, RankId(1));
  EXPECT_EQ(extra_time(deviations[1]), microseconds(70));
}

TEST(OperationStatistics, ListsNeitherComputeNorReceivesThatWait) {
  OperationStatistics statistics(10);
  statistics.add(row_of(0, "gemm", "compute", microseconds(900), microseconds(100)));
  statistics.add(row_of(0, "recv", "receive", microseconds(900), microseconds(100)));
  statistics.add(row_of(0, "send", "send", microseconds(200), microseconds(100)));
  EXPECT_THAT(names_of(statistics.deviations()), ElementsAre("send"));
  EXPECT_THAT(names_of(statistics.longest()), ElementsAre("send"));
}

// Of 100 us 1 % is 1 us; of 10 ms it is 100 us, but 10 us is enough.
TEST(OperationStatistics, AnExtraOfOnePercentOrTenMicrosecondsIsNoteworthy) {
  EXPECT_TRUE(is_noteworthy(microseconds(1), microseconds(100)));
  EXPECT_FALSE(is_noteworthy(microseconds(1) - Duration(1), microseconds(100)));
  EXPECT_TRUE(is_noteworthy(microseconds(10), microseconds(10'000)));
  EXPECT_FALSE(is_noteworthy(microseconds(10) - Duration(1), microseconds(10'000)));
  EXPECT_FALSE(is_noteworthy(Duration(0), Duration(0)));
  EXPECT_FALSE(is_noteworthy(Duration(0) - microseconds(50), microseconds(100)));
}

std::string in_letters(size_t n) {
  std::string text;
  for (; n > 0; n /= 26) text += static_cast<char>('a' + n % 26);
  return text;
}

TEST(OperationStatistics, NamesBeyondTheLimitShareOneGroup) {
  OperationStatistics statistics(0);
  for (size_t i = 1; i <= OperationStatistics::kMaxGroups + 5; ++i) {
    statistics.add(row_of(0, in_letters(i), "all_reduce", Duration(1), Duration(1)));
  }
  EXPECT_EQ(statistics.group_count(), OperationStatistics::kMaxGroups + 1);
  // The five names without room are the group with the most time.
  EXPECT_EQ(statistics.groups(1)[0]->name, "(other)");
  EXPECT_EQ(statistics.groups(1)[0]->count, 5u);
}

// 1000 names in a scrambled order (7 is prime to 1000), each three times; the largest keys are those of the last names.
TEST(TopOperations, AreExactAlthoughMostNamesAreForgotten) {
  TopOperations top(3);
  for (int64_t round = 1; round <= 3; ++round) {
    for (int64_t i = 0; i < 1000; ++i) {
      const int64_t n = i * 7 % 1000;
      const Duration key(10 * n + round);
      top.add(row_of(static_cast<uint32_t>(round), in_letters(static_cast<size_t>(n)), "send", key, Duration(0)), key);
    }
  }
  const auto rows = top.list();
  ASSERT_EQ(rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].node.name, in_letters(999 - i));
    EXPECT_EQ(rows[i].emulated->duration(), Duration(static_cast<int64_t>(10 * (999 - i) + 3)));
  }
}

// Compute 0-10 and 20-30, communication 5-25 and 28-40: anything 0-40, of which compute does not hide 10-20 and 30-40.
TEST(RankActivity, ExposedCommunicationIsWhatNoComputeHides) {
  RankActivity activity;
  activity.add(Activity::kCompute, {Time(0), Time(10)});
  activity.add(Activity::kCommunication, {Time(5), Time(25)});
  activity.add(Activity::kCompute, {Time(20), Time(30)});
  activity.add(Activity::kCommunication, {Time(28), Time(40)});
  EXPECT_EQ(activity.compute.covered(), Duration(20));
  EXPECT_EQ(activity.exposed_communication(), Duration(20));
}

}  // namespace
}  // namespace rankwire
