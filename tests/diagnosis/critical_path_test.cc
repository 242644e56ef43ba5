#include "emulator/diagnosis/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::path_of;
using testing::PathRecord;

TEST(CriticalPath, GoesOnAtTheMemberThatBeganLast) {
  PathRecord record;
  for (const uint32_t rank : {0, 1}) {
    record.compute(rank, "first");
    record.collective(rank, "all_reduce");
  }
  record.compute(0, "last");
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 30});
  record.ran(0, 1, {10, 50}), record.ran(1, 1, {30, 50});
  record.ran(0, 2, {50, 60});
  EXPECT_THAT(path_of(record), ElementsAre("1 first 0..30", "0 all_reduce 30..50", "0 last 50..60"));
}

TEST(CriticalPath, DoesNotWaitForAMemberThatBeganAfterwards) {
  PathRecord record;
  for (const uint32_t rank : {0, 1}) {
    record.compute(rank, "first");
    record.collective(rank, "gather");
  }
  record.compute(0, "last");
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 30});
  // Rank 0 has handed over what it has, before rank 1 even began.
  record.ran(0, 1, {10, 20}), record.ran(1, 1, {30, 40});
  record.ran(0, 2, {20, 60});
  EXPECT_THAT(path_of(record), ElementsAre("0 first 0..10", "0 gather 10..20", "0 last 20..60"));
}

TEST(CriticalPath, ABroadcastWaitsForItsRootAlone) {
  PathRecord record;
  for (const uint32_t rank : {0, 1, 2}) {
    record.compute(rank, "first");
    record.collective(rank, "broadcast", RankId(1));
  }
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {0, 15}), record.ran(2, 0, {0, 30});
  record.ran(0, 1, {10, 40}), record.ran(1, 1, {15, 35}), record.ran(2, 1, {30, 35});
  EXPECT_THAT(path_of(record), ElementsAre("1 first 0..15", "0 broadcast 15..40"));
}

TEST(CriticalPath, AReceiveWaitsForItsSendAndASendForNobody) {
  PathRecord record;
  record.compute(0, "first"), record.send(0, 1);
  record.receive(1, 0), record.compute(1, "last");
  record.ran(0, 0, {0, 5}), record.ran(0, 1, {5, 9});
  record.ran(1, 0, {0, 8}), record.ran(1, 1, {8, 20});
  EXPECT_THAT(path_of(record), ElementsAre("0 first 0..5", "1 receive 5..8", "1 last 8..20"));

  PathRecord sends;
  sends.send(0, 1), sends.receive(1, 0);
  sends.ran(0, 0, {0, 9}), sends.ran(1, 0, {4, 8});
  EXPECT_THAT(path_of(sends), ElementsAre("0 send 0..9"));
}

TEST(CriticalPath, TimeBetweenOperationsStandsBeforeTheStep) {
  PathRecord record;
  record.compute(0, "a"), record.compute(0, "b");
  record.ran(0, 0, {2, 10}), record.ran(0, 1, {13, 20});
  EXPECT_THAT(path_of(record), ElementsAre("+2 0 a 2..10", "+3 0 b 13..20"));
}

TEST(CriticalPath, NodesThatTakeNoTimeFollowOneAnother) {
  PathRecord record;
  for (const char* name : {"a", "b", "c", "d"}) record.compute(0, name);
  record.ran(0, 0, {0, 10}), record.ran(0, 1, {10, 10}), record.ran(0, 2, {10, 10}), record.ran(0, 3, {10, 12});
  EXPECT_THAT(path_of(record), ElementsAre("0 a 0..10", "0 b 10..10", "0 c 10..10", "0 d 10..12"));
}

TEST(CriticalPath, AnIterationWaitsForAllRanksToEndTheOneBeforeTheLast) {
  PathRecord record;
  record.compute(0, "x"), record.compute(1, "y");
  // Rank 0 may be one iteration ahead: its third begins when rank 1 has ended its first.
  record.ran(0, 0, {.start = 0, .end = 10, .iteration = 0}), record.ran(0, 0, {.start = 10, .end = 20, .iteration = 1});
  record.ran(1, 0, {.start = 0, .end = 50, .iteration = 0}), record.ran(1, 0, {.start = 50, .end = 51, .iteration = 1});
  record.ran(0, 0, {.start = 50, .end = 60, .iteration = 2}),
      record.ran(1, 0, {.start = 51, .end = 52, .iteration = 2});
  EXPECT_THAT(path_of(record), ElementsAre("1 y 0..50", "0 x 50..60"));
}

TEST(CriticalPath, AJobWaitsForTheOneThatItFollows) {
  PathRecord record;
  record.jobs = {
      {.job = JobId(0), .name = "a", .first_rank = 0, .ranks = 1},
      {.job = JobId(1), .name = "b", .first_rank = 1, .ranks = 1, .after = JobId(0), .start = microseconds(5)}};
  record.compute(0, "x");
  record.job = JobId(1);
  record.compute(1, "y");
  record.ran(0, 0, {0, 10}), record.ran(1, 0, {15, 20});
  EXPECT_THAT(path_of(record), ElementsAre("0 x 0..10", "+5 1 y 15..20"));
}

// Whatever ran when, the steps and what is between them fill the time from 0 to the last end without a gap or an
// overlap, each step begins within its execution, and the search ends.
TEST(CriticalPath, FillsTheCompletionTimeOfAnyRun) {
  std::mt19937 random(1);
  const auto below = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  for (int run = 0; run < 50; ++run) {
    PathRecord written;
    int64_t last = 0;
    for (uint32_t rank = 0; rank < 4; ++rank) {
      for (int i = 0; i < 20; ++i) {
        const uint32_t node = below(2) == 0 ? written.compute(rank, "c") : written.collective(rank, "all_gather");
        const int64_t start = below(100), end = start + below(20);
        written.ran(rank, node, {.start = start, .end = end, .iteration = static_cast<uint32_t>(below(3))});
        last = std::max(last, end);
      }
    }
    const RunReader record = written.reader();
    const NodeMeetings meetings(record);
    const auto executions = Executions::read(record, *record.emulated(), meetings);
    ASSERT_TRUE(executions);
    const CriticalPath path = critical_path(record, *executions);
    EXPECT_EQ(path.completion, microseconds(last));
    Time at;
    for (const CriticalStep& step : path.steps) {
      EXPECT_GE(step.before, Duration());
      EXPECT_EQ(step.from, at + step.before);
      EXPECT_LE(step.from, step.to);
      at = step.to;
    }
    EXPECT_EQ(at, PathRecord::at(last));
  }
}

TEST(CriticalPath, WithoutExecutionsThereIsNone) {
  PathRecord written;
  const RunReader record = written.reader();
  const NodeMeetings meetings(record);
  EXPECT_FALSE(Executions::read(record, *record.emulated(), meetings));
}

}  // namespace
}  // namespace rankwire
