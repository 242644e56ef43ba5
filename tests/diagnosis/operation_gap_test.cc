#include "emulator/diagnosis/operation_gap.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using testing::PathRecord;

/// Of the execution of `node` by `rank` in iteration 0, whose parts add up.
OperationGap gap_of(PathRecord& written, uint32_t rank, uint32_t node) {
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  const auto emulated = Executions::read(record, *record.emulated(), meetings);
  const auto reference = Executions::read(record, *record.reference(), meetings);
  std::vector<OperationRow> asked;
  record.for_each_operation([&](const OperationRow& row) {
    if (row.node.rank == RankId(rank) && row.node.node == node) asked.push_back(row);
  });
  const std::vector<OperationGap> gaps = operation_gaps(record, *record.emulated(), asked, *emulated, *reference);
  EXPECT_EQ(gaps.size(), 1u);
  Duration sum = gaps.at(0).late_peer;
  for (const Duration part : gaps[0].parts) sum += part;
  EXPECT_EQ(sum, gaps[0].gap);
  return gaps[0];
}

Duration part(const OperationGap& gap, GapCause cause) {
  return gap.parts[static_cast<size_t>(cause)];
}

/// Ranks 0 and 1 compute and all-reduce; rank 2 computes until 200 us, so nothing of theirs is on the critical path.
PathRecord& runs_beside_the_path(PathRecord& record) {
  for (const uint32_t rank : {0, 1}) record.compute(rank, "first"), record.collective(rank, "all_reduce");
  record.compute(2, "last");
  record.ran(2, 0, {0, 200});
  return record;
}

// Rank 0 begins at 10 us and waits for rank 1 until 40, 10 us longer than in the reference; then it takes 50 us instead
// of 20, of which 12 are a lost packet's.
TEST(OperationGap, IsSplitBesideTheCriticalPath) {
  PathRecord record;
  runs_beside_the_path(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 40, 0, 30});
  record.ran(0, 1, {10, 90, 10, 50}), record.ran(1, 1, {40, 90, 30, 50});
  TimeByCause held;
  held[Cause::kTransmitting] = microseconds(5), held[Cause::kRecovering] = microseconds(12);
  record.caused(1, 1, ConnectionId(1), held);
  const OperationGap first = gap_of(record, 0, 1), second = gap_of(record, 1, 1);
  EXPECT_EQ(first.gap, microseconds(40));
  EXPECT_EQ(first.late_peer, microseconds(10));
  EXPECT_EQ(first.waited_for, RankId(1));
  EXPECT_EQ(part(first, GapCause::kRecovering), microseconds(12));
  EXPECT_EQ(part(first, GapCause::kUnexplained), microseconds(18));
  EXPECT_EQ(second.gap, microseconds(30)) << "the late one waits for nobody";
  EXPECT_EQ(second.late_peer, Duration());
  EXPECT_FALSE(second.waited_for.valid());
}

TEST(OperationGap, WaitingAndWhatIsFasterMayBeNegative) {
  PathRecord record;
  runs_beside_the_path(record);
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 10, 0, 30});
  record.ran(0, 1, {10, 25, 10, 50}), record.ran(1, 1, {10, 25, 30, 50});
  const OperationGap gap = gap_of(record, 0, 1);
  EXPECT_EQ(gap.gap, microseconds(-25));
  EXPECT_EQ(gap.late_peer, microseconds(-20));
  EXPECT_FALSE(gap.waited_for.valid());
  EXPECT_EQ(part(gap, GapCause::kFaster), microseconds(-5));
}

}  // namespace
}  // namespace rankwire
