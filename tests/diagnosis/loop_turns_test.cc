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

// Three turns of 2 us are 6 us. A twentieth of 100 us are 5.
TEST(LoopTurns, ExplainMessagesThatTookLongerByNoMoreThanThree) {
  EXPECT_TRUE(turns_explain_messages(microseconds(16), microseconds(10), microseconds(2)));
  EXPECT_FALSE(turns_explain_messages(microseconds(17), microseconds(10), microseconds(2)));
  EXPECT_FALSE(turns_explain_messages(microseconds(100), microseconds(95), microseconds(2)));
  EXPECT_FALSE(turns_explain_messages(microseconds(10), microseconds(80), microseconds(2))) << "they were faster";
}

}  // namespace
}  // namespace rankwire
