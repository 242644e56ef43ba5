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

// What the reference computes longer, the run without differences does as well; nothing was slow for it.
TEST(CausesRemoved, ShorterComputingIsNoCause) {
  PathRecord record;
  record.compute(0, "work");
  record.ran(0, 0, {0, 10, 0, 14});
  const CausesRemoved removed = removed_of(record);
  EXPECT_EQ(removed.all, microseconds(14));
  EXPECT_FALSE(without(removed, GapCause::kCompute));
}

// Rank 0 loses 20 us in its half of the work, which keeps rank 1 from being in its way: that reduces within 10 us
// instead of 20 beside it. Without losses it would not.
TEST(CausesRemoved, WhatWasFasterBesideTheCauseIsNotWithoutIt) {
  PathRecord record;
  const uint32_t send = record.send(0, 2), receive = record.receive(2, 0);
  record.sequence = 1;
  const uint32_t other = record.send(1, 3), at = record.receive(3, 1);
  record.sequence = 2;
  const uint32_t last = record.compute(1, "tail");
  record.ran(0, send, {0, 50, 0, 30}), record.ran(2, receive, {0, 50, 0, 30});
  record.ran(1, other, {0, 10, 0, 20}), record.ran(3, at, {0, 10, 0, 20});
  record.ran(1, last, {10, 45, 20, 55});
  TimeByCause held;
  held[Cause::kRecovering] = microseconds(20);
  record.caused(0, send, record.connection(0, 2), held);
  const CausesRemoved removed = removed_of(record);
  EXPECT_EQ(removed.all, microseconds(55));
  EXPECT_EQ(without(removed, GapCause::kRecovering), microseconds(50)) << "the run itself, and not 45";
}

// The message had arrived 20 us before it was received, and its sender had heard so 15 us before. Had rank 1 not
// computed so long, it would have waited until 12 us.
TEST(CausesRemoved, AMessageThatWaitsForItsReceiverTakesNoLongerForThat) {
  PathRecord record;
  const uint32_t work = record.compute(1, "work"), receive = record.receive(1, 0), send = record.send(0, 1);
  record.ran(1, work, {0, 30, 0, 5}), record.ran(1, receive, {30, 30, 5, 10}), record.ran(0, send, {0, 15, 0, 12});
  const CausesRemoved removed = removed_of(record);
  // Its sender took 3 us longer than in the reference: whether the message did nobody knows, who received it too late.
  EXPECT_EQ(without(removed, GapCause::kCompute), microseconds(15));
  EXPECT_EQ(removed.all, microseconds(12)) << "of the SEND";
}

}  // namespace
}  // namespace rankwire
