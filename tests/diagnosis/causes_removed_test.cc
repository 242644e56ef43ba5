#include "emulator/diagnosis/causes_removed.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "emulator/diagnosis/executions.h"
#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using testing::PathRecord;

CausesRemoved removed_of(PathRecord& record, const std::array<double, kGapCauses>& late = {}) {
  const RunReader reader = record.reader();
  const NodeMeetings meetings(reader);
  const auto emulated = Executions::read(reader, *reader.emulated(), meetings);
  const auto reference = Executions::read(reader, *reader.reference(), meetings);
  return *remove_causes(reader, *reader.emulated(), *emulated, *reference, late);
}

std::optional<Duration> without(const CausesRemoved& removed, GapCause cause) {
  return removed.without[static_cast<size_t>(cause)];
}

/// Two ranks compute for 10 us and reduce for 50, where the reference takes 20: 12 us recover, 18 us wait for a window.
void loses_and_waits(PathRecord& record) {
  for (const uint32_t rank : {0, 1}) record.compute(rank, "work"), record.collective(rank, "all_reduce");
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 10});
  record.ran(0, 1, {10, 60, 10, 30}), record.ran(1, 1, {10, 59, 10, 29});
  TimeByCause held;
  held[Cause::kRecovering] = microseconds(12), held[Cause::kWindow] = microseconds(40);
  record.caused(0, 1, ConnectionId(0), held);
}

TEST(CausesRemoved, EachIsWorthItsTimeWhereNothingElseWasSlow) {
  PathRecord record;
  loses_and_waits(record);
  const CausesRemoved removed = removed_of(record);
  EXPECT_EQ(removed.all, microseconds(30)) << "as in the reference";
  EXPECT_EQ(without(removed, GapCause::kRecovering), microseconds(48));
  EXPECT_EQ(without(removed, GapCause::kWindow), microseconds(42));
  EXPECT_FALSE(without(removed, GapCause::kCompute));
  EXPECT_FALSE(without(removed, GapCause::kUnexplained));
}

// A quarter of what recovered may be lateness: 3 of 12 us.
TEST(CausesRemoved, LatenessOfTheGeneratorIsTakenOff) {
  PathRecord record;
  loses_and_waits(record);
  std::array<double, kGapCauses> late{};
  late[static_cast<size_t>(GapCause::kRecovering)] = 0.25;
  const CausesRemoved removed = removed_of(record, late);
  EXPECT_EQ(without(removed, GapCause::kRecovering), microseconds(51));
  EXPECT_EQ(without(removed, GapCause::kGenerator), microseconds(57));
}

// Rank 0 computes until 30 us instead of 10, rank 1 receives until 25 instead of 10, because packets were lost; then
// they reduce for 10 us. The critical path has the computing and its 20 us, but without them losses take 15.
TEST(CausesRemoved, WhatWasHiddenComesToLight) {
  PathRecord record;
  const uint32_t work = record.compute(0, "work"), receive = record.receive(1, 2), send = record.send(2, 1);
  record.sequence = 1;
  const uint32_t first = record.collective(0, "all_reduce"), second = record.collective(1, "all_reduce");
  record.ran(0, work, {0, 30, 0, 10});
  record.ran(1, receive, {0, 25, 0, 10}), record.ran(2, send, {0, 25, 0, 10});
  record.ran(0, first, {30, 40, 10, 20}), record.ran(1, second, {25, 40, 10, 20});
  TimeByCause held;
  held[Cause::kRecovering] = microseconds(15);
  record.caused(2, send, record.connection(2, 1), held);
  const CausesRemoved removed = removed_of(record);
  EXPECT_EQ(removed.all, microseconds(20));
  EXPECT_EQ(without(removed, GapCause::kCompute), microseconds(35));
  EXPECT_EQ(without(removed, GapCause::kRecovering), microseconds(40)) << "nobody waited for that";
}

// What the reference computes longer, the run without differences does as well.
TEST(CausesRemoved, ShorterComputingIsADifference) {
  PathRecord record;
  record.compute(0, "work");
  record.ran(0, 0, {0, 10, 0, 14});
  const CausesRemoved removed = removed_of(record);
  EXPECT_EQ(removed.all, microseconds(14));
  EXPECT_EQ(without(removed, GapCause::kCompute), microseconds(14));
}

}  // namespace
}  // namespace rankwire
