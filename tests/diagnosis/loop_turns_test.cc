#include "emulator/diagnosis/loop_turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

Histogram::Bucket turns(Duration length, uint64_t count) {
  return {.low = length, .high = length, .count = count};
}

TEST(LoopTurns, HalfOfTheTimePassesInTurnsOfTheTypicalLengthOrLonger) {
  EXPECT_EQ(typical_turn({}), Duration(0));
  EXPECT_EQ(typical_turn(std::vector{turns(nanoseconds(500), 1)}), nanoseconds(500));
  // 90 us in turns of 1 us, 10 us in one.
  EXPECT_EQ(typical_turn(std::vector{turns(microseconds(1), 90), turns(microseconds(10), 1)}), microseconds(1));
}

// 90 turns of 1 us weigh less than one of 200 us.
TEST(LoopTurns, AFewLongOnesWeighAsMuchAsTheirTime) {
  const std::vector few{turns(microseconds(1), 90), turns(microseconds(200), 1)};
  EXPECT_EQ(typical_turn(few), microseconds(200));
  EXPECT_EQ(time_in_turns_above(few, microseconds(1)), microseconds(200));
  EXPECT_EQ(time_in_turns_above(few, microseconds(200)), Duration(0));
  EXPECT_EQ(time_in_turns_above(few, nanoseconds(999)), microseconds(290));
}

}  // namespace
}  // namespace rankwire
