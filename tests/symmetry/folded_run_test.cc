#include "emulator/symmetry/folded_run.h"

#include <gtest/gtest.h>

#include "tests/symmetry/both_runs.h"

namespace rankwire {
namespace {

BothRuns one_collective(CollectiveKind kind, uint32_t ranks, int64_t bytes, ScheduleOptions schedule = {}) {
  testing::WorkloadBuilder builder(ranks);
  const GroupId world = builder.group("world", members(0, ranks, 1));
  for (uint32_t r = 0; r < ranks; ++r) builder.collective(r, kind, world, bytes);
  return on_star(builder.build(), schedule, {}, ranks, 1, kRate);
}

TEST(FoldedRun, ARingIsOneRankThatSendsToItself) {
  const BothRuns runs = one_collective(CollectiveKind::kAllReduce, 16, 16 << 16, {.channels = 4});
  const auto reduced = quotient(runs.workload, runs.plan, runs.network);
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->classes.ranks.classes(), 1u);
  EXPECT_EQ(reduced->classes.connections.classes(), 4u) << "one a channel";
  for (const Connection& c : reduced->plan.transport.connections) EXPECT_EQ(c.source, c.destination);
  EXPECT_EQ(reduced->plan.messages_per_iteration * 16, runs.plan.messages_per_iteration);
  const auto folded = runs.folded();
  ASSERT_TRUE(folded);
  EXPECT_EQ(*folded, runs.whole());
}

TEST(FoldedRun, AnAllToAllHasAClassForEachDistance) {
  const BothRuns runs = one_collective(CollectiveKind::kAllToAll, 8, 8 << 14);
  const auto reduced = quotient(runs.workload, runs.plan, runs.network);
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->classes.ranks.classes(), 1u);
  EXPECT_EQ(reduced->classes.connections.classes(), 7u);
  const auto folded = runs.folded();
  ASSERT_TRUE(folded);
  EXPECT_EQ(*folded, runs.whole());
}

TEST(FoldedRun, WhatIsNotSymmetricIsNotFolded) {
  EXPECT_FALSE(one_collective(CollectiveKind::kBroadcast, 8, 1 << 16).folded()) << "a chain from the root";
  EXPECT_FALSE(one_collective(CollectiveKind::kAllReduce, 8, (8 << 10) + 1).folded()) << "one part is longer";
  testing::WorkloadBuilder builder(16);
  const GroupId world = builder.group("world", members(0, 16, 1));
  for (uint32_t r = 0; r < 16; ++r) {
    const uint32_t before = builder.compute(r, microseconds(r == 5 ? 2 : 1));
    builder.collective(r, CollectiveKind::kAllReduce, world, 16 << 12, {before});
  }
  EXPECT_FALSE(on_star(builder.build(), {}, {}, 16, 1, kRate).folded()) << "one rank is late";
  testing::WorkloadBuilder same(16);
  const GroupId all = same.group("world", members(0, 16, 1));
  for (uint32_t r = 0; r < 16; ++r) same.collective(r, CollectiveKind::kAllReduce, all, 16 << 12);
  EXPECT_FALSE(on_star(same.build(), {}, {}, 16, 1, Bandwidth(99'000'000'000)).folded()) << "one port is slower";
}

// The claim itself: what is told of a folded run is what the whole run tells, to the picosecond.
TEST(FoldedRun, TellsWhatTheWholeRunTells) {
  uint32_t folded_runs = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const BothRuns runs = random_step(seed);
    const auto folded = runs.folded();
    folded_runs += folded.has_value();
    if (!folded) continue;
    const Told whole = runs.whole();
    EXPECT_EQ(folded->operations, whole.operations) << "seed " << seed;
    EXPECT_TRUE(*folded == whole) << "seed " << seed;
  }
  EXPECT_GT(folded_runs, 50u) << "of 150";
}

}  // namespace
}  // namespace rankwire
