#include "emulator/diagnosis/replay.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "emulator/diagnosis/executions.h"
#include "tests/diagnosis/forwards.h"
#include "tests/diagnosis/path_record.h"

namespace rankwire {
namespace {

using testing::fill;
using testing::Forwards;
using testing::PathRecord;

/// What takes less time, or more, in any run: the same as when each pair of executions is asked who waited for whom.
TEST(Replay, IsTheRunWithOtherTimes) {
  uint64_t earlier = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    PathRecord written;
    fill(written, random);
    const RunReader record = written.reader();
    const NodeMeetings meetings(record);
    const auto executions = Executions::read(record, *record.emulated(), meetings);
    ASSERT_TRUE(executions);
    const Replay replay(*executions);
    const Forwards forwards(*executions, Forwards::Receives::kOnArrival);
    const Duration end = executions->at(executions->last()).end - Time();
    std::vector<Duration> less(executions->count());
    EXPECT_EQ(replay.completion(less), end) << "seed " << seed;
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<Duration> more(executions->count());
      for (uint32_t i = 0; i < executions->count(); ++i) {
        less[i] = random() % 2 == 0 ? Duration() : microseconds(static_cast<int64_t>(random() % 24) - 4);
        more[i] = Duration() - less[i];
      }
      ASSERT_EQ(replay.completion(less), forwards.end_with(more) - Time()) << "seed " << seed << ", turn " << turn;
      earlier += replay.completion(less) < end ? 1 : 0;
    }
  }
  EXPECT_GT(earlier, 600u);
}

}  // namespace
}  // namespace rankwire
