#include "emulator/engine/iteration_gate.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(IterationGate, ARankIsOneIterationAheadOfTheSlowestAtMost) {
  IterationGate gate(2, 3);
  EXPECT_TRUE(gate.open(0));
  EXPECT_FALSE(gate.end(0));
  EXPECT_TRUE(gate.open(1)) << "the first may go on at once";
  EXPECT_FALSE(gate.end(1));
  EXPECT_FALSE(gate.open(2)) << "the other has not ended iteration 0";
  EXPECT_TRUE(gate.end(0)) << "the other has";
  EXPECT_TRUE(gate.open(2));
  EXPECT_FALSE(gate.open(3));
  EXPECT_EQ(gate.ended_by_all(), 1u);
}

// The first rank ends iterations 1 and 2 before the other ends 1: both parities are counted at a time.
TEST(IterationGate, TwoIterationsAreCountedApart) {
  IterationGate gate(2, 4);
  gate.end(0), gate.end(0);
  EXPECT_FALSE(gate.end(1));
  EXPECT_FALSE(gate.open(3));
  EXPECT_TRUE(gate.end(1));
  EXPECT_FALSE(gate.end(2));
  EXPECT_TRUE(gate.open(3));
  EXPECT_FALSE(gate.end(3));
  EXPECT_TRUE(gate.end(2));
  EXPECT_EQ(gate.ended_by_all(), 3u);
  EXPECT_FALSE(gate.finished());
  EXPECT_TRUE(gate.end(3));
  EXPECT_TRUE(gate.finished());
}

// Two shards of one rank each: what the other's rank has ended is seen by those who look.
TEST(IterationGate, RanksOfOtherShardsAreWaitedForToo) {
  SharedIterations shared(2);
  IterationGate here(1, 3, &shared, 0), there(1, 3, &shared, 1);
  EXPECT_FALSE(here.end(0)) << "the other has not";
  EXPECT_TRUE(here.open(1));
  EXPECT_FALSE(here.end(1));
  EXPECT_FALSE(here.open(2));
  EXPECT_FALSE(here.look());
  EXPECT_TRUE(there.end(0)) << "both have ended iteration 0";
  EXPECT_FALSE(here.open(2)) << "nobody has looked";
  EXPECT_TRUE(here.look());
  EXPECT_FALSE(here.look()) << "nothing new";
  EXPECT_TRUE(here.open(2));
  EXPECT_FALSE(here.open(3));
  EXPECT_FALSE(here.end(2));
  EXPECT_TRUE(here.finished());
  EXPECT_FALSE(there.finished());
}

TEST(IterationGate, AShardWithoutRanksHoldsNobodyBack) {
  SharedIterations shared(2);
  const IterationGate empty(0, 4, &shared, 1);
  IterationGate here(1, 4, &shared, 0);
  EXPECT_TRUE(empty.finished());
  EXPECT_TRUE(here.end(0));
  EXPECT_TRUE(here.open(2));
}

TEST(IterationGate, WithoutRanksThereIsNothingToWaitFor) {
  EXPECT_TRUE(IterationGate(0, 1).finished());
  EXPECT_FALSE(IterationGate(1, 1).finished());
}

}  // namespace
}  // namespace rankwire
