#include "emulator/diagnosis/slack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using testing::PathRecord;

/// The same graph walked forwards: the end of the run when execution `late` ends `by` later. Quadratic, and by what
/// each execution waited for as Executions tells it.
Time end_with(const Executions& executions, uint32_t late, Duration by) {
  const uint32_t count = executions.count();
  std::vector<Time> starts(count), ends(count);
  std::vector<bool> started(count), ended(count);
  for (uint32_t left = 2 * count, before = 0; left > 0 && left != before;) {
    before = left;
    for (uint32_t i = 0; i < count; ++i) {
      const Executions::Execution& own = executions.at(i);
      if (!started[i]) {
        const auto last = executions.before(i);
        const auto gate = executions.gate(i, executions.before_on_rank(i));
        Time ready;
        bool can_start = true;
        for (uint32_t j = 0; j < count; ++j) {
          const Executions::Execution& other = executions.at(j);
          const bool on_rank = other.rank == own.rank && j < i && other.end <= own.start;
          const bool in_gate =
              gate && executions.job(j) == gate->job && (!gate->iteration || other.iteration == *gate->iteration);
          if (!on_rank && !in_gate) continue;
          can_start = can_start && ended[j];
          ready = std::max(ready, ends[j]);
        }
        if (!can_start) continue;
        starts[i] = last ? ready + (own.start - executions.at(*last).end) : own.start;
        started[i] = true, --left;
      }
      if (ended[i]) continue;
      const NodeMeeting meeting = executions.meeting(i);
      Time released = starts[i];
      bool can_end = true;
      for (const uint32_t j : executions.together_with(i)) {
        const bool waits = meeting.for_all || executions.at(j).rank == meeting.from;
        if (j == i || !waits || executions.at(j).start >= own.end) continue;
        can_end = can_end && started[j];
        released = std::max(released, starts[j]);
      }
      if (!can_end) continue;
      ends[i] = released + (own.end - executions.release(i).at) + (i == late ? by : Duration());
      ended[i] = true, --left;
    }
  }
  return *std::ranges::max_element(ends);
}

/// Some ranks that compute, all-reduce, broadcast and send to each other, in up to four iterations at random times:
/// whatever times a run may have. Times are whole microseconds.
void fill(PathRecord& record, std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  constexpr uint32_t kRanks = 4;
  std::vector<std::vector<uint32_t>> nodes(kRanks);
  for (int64_t turn = 0, turns = 2 + below(3); turn < turns; ++turn) {
    const int64_t kind = below(4);
    record.sequence = static_cast<uint32_t>(turn);
    const auto root = static_cast<uint32_t>(below(kRanks)), peer = (root + 1) % kRanks;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      if (kind == 0) nodes[rank].push_back(record.compute(rank, "work"));
      if (kind == 1) nodes[rank].push_back(record.collective(rank, "all_reduce"));
      if (kind == 2) nodes[rank].push_back(record.collective(rank, "broadcast", RankId(root)));
    }
    if (kind == 3) nodes[root].push_back(record.send(root, peer)), nodes[peer].push_back(record.receive(peer, root));
  }
  const auto iterations = static_cast<uint32_t>(1 + below(4));
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    int64_t at = below(5);
    for (uint32_t iteration = 0; iteration < iterations; ++iteration) {
      for (const uint32_t node : nodes[rank]) {
        const int64_t start = std::max<int64_t>(0, at - below(6)), end = start + below(20);
        record.ran(rank, node, {.start = start, .end = end, .iteration = iteration});
        at = std::max(at, end + below(4));
      }
    }
  }
}

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
    ASSERT_EQ(end_with(*executions, 0, {}), end) << "seed " << seed;
    const std::vector<Duration> all = slacks(*executions);
    for (const CriticalStep& step : critical_path(record, *executions).steps)
      EXPECT_EQ(all[step.execution], Duration()) << "seed " << seed << ", execution " << step.execution;
    for (uint32_t i = 0; i < executions->count(); ++i) {
      ASSERT_GE(all[i], Duration()) << "seed " << seed << ", execution " << i;
      EXPECT_EQ(end_with(*executions, i, all[i]), end) << "seed " << seed << ", execution " << i;
      EXPECT_GT(end_with(*executions, i, all[i] + Duration(1)), end) << "seed " << seed << ", execution " << i;
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
