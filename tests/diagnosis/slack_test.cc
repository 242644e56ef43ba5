#include "emulator/diagnosis/slack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/diagnosis/forwards.h"
#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using testing::fill;
using testing::Forwards;
using testing::PathRecord;

TEST(Slack, IsWhatAnExecutionCanBeLateByInAnyRun) {
  uint64_t critical = 0, free = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    PathRecord written;
    fill(written, random);
    const RunReader record = written.reader();
    const NodeMeetings meetings(record);
    const auto executions = Executions::read(record, *record.emulated(), meetings);
    ASSERT_TRUE(executions);
    const Time end = executions->at(executions->last()).end;
    const Forwards forwards(*executions);
    ASSERT_TRUE(forwards.has_all()) << "seed " << seed;
    ASSERT_EQ(forwards.end_with(0, {}), end) << "seed " << seed;
    const std::vector<Duration> all = slacks(*executions);
    for (const CriticalStep& step : critical_path(record, *executions).steps)
      EXPECT_EQ(all[step.execution], Duration()) << "seed " << seed << ", execution " << step.execution;
    for (uint32_t i = 0; i < executions->count(); ++i) {
      ASSERT_GE(all[i], Duration()) << "seed " << seed << ", execution " << i;
      EXPECT_EQ(forwards.end_with(i, all[i]), end) << "seed " << seed << ", execution " << i;
      EXPECT_GT(forwards.end_with(i, all[i] + Duration(1)), end) << "seed " << seed << ", execution " << i;
      ++(all[i] == Duration() ? critical : free);
    }
  }
  EXPECT_GT(critical, 60u);
  EXPECT_GT(free, 60u);
}

// Rank 1 computes 10 us and waits for rank 0, which takes 30: it could end 20 us later, and its last node, which ends
// at 45 us of 50, 5 us.
TEST(Slack, IsSummedUpByRankAndOperation) {
  PathRecord written;
  for (const uint32_t rank : {0, 1})
    written.compute(rank, "layer " + std::to_string(rank)), written.collective(rank, "all_reduce");
  written.compute(0, "tail"), written.compute(1, "tail");
  written.ran(0, 0, {0, 30}), written.ran(1, 0, {0, 10});
  written.ran(0, 1, {30, 40}), written.ran(1, 1, {10, 40});
  written.ran(0, 2, {40, 50}), written.ran(1, 2, {40, 45});
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  const SlackTable table = slack_table(record, *Executions::read(record, *record.emulated(), meetings));
  ASSERT_EQ(table.ranks.size(), 2u);
  EXPECT_EQ(table.ranks[0].median, Duration());
  EXPECT_EQ(table.ranks[1].executions, 3u);
  EXPECT_EQ(table.ranks[1].least, microseconds(5));
  EXPECT_EQ(table.ranks[1].median, microseconds(5)) << "of 5, 5 and 20";
  ASSERT_EQ(table.operations.size(), 3u);
  const auto layer = std::ranges::find(table.operations, "layer #", [](const SlackRow& row) { return row.node.name; });
  ASSERT_NE(layer, table.operations.end());
  EXPECT_EQ(layer->executions, 2u);
  EXPECT_EQ(layer->least, Duration());
}

}  // namespace
}  // namespace rankwire
