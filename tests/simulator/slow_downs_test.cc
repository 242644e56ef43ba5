#include "emulator/simulator/slow_downs.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

constexpr Time at(int64_t us) {
  return Time(microseconds(us).ps);
}

TEST(SlowDowns, LeaveAloneWhatTheyDoNotMeet) {
  EXPECT_TRUE(SlowDowns().empty());
  EXPECT_EQ(SlowDowns().end_of(at(5), microseconds(7)), at(12));
  const SlowDowns slow(std::vector<SlowDown>{{at(20), at(50), 1'500'000}});
  EXPECT_EQ(slow.end_of(at(5), microseconds(15)), at(20));  // ends as it begins
  EXPECT_EQ(slow.end_of(at(50), microseconds(7)), at(57));
}

// 1.5 times as long from 20 us to 50 us.
TEST(SlowDowns, StretchWorkWithinThem) {
  const SlowDowns slow(std::vector<SlowDown>{{at(20), at(50), 1'500'000}});
  EXPECT_EQ(slow.end_of(at(20), microseconds(10)), at(35));
  EXPECT_EQ(slow.end_of(at(20), microseconds(20)), at(50));
  // 30 us hold 20 us of work, the other 5 us follow.
  EXPECT_EQ(slow.end_of(at(20), microseconds(25)), at(55));
  // 10 us before, 10 us of work in 15 us.
  EXPECT_EQ(slow.end_of(at(10), microseconds(20)), at(35));
  // 10 us before, 20 us of work within, 3 us behind.
  EXPECT_EQ(slow.end_of(at(10), microseconds(33)), at(53));
}

TEST(SlowDowns, PauseWork) {
  const SlowDowns slow(std::vector<SlowDown>{{at(20), at(50), SlowDown::kPause}});
  EXPECT_EQ(slow.end_of(at(30), microseconds(10)), at(60));
  EXPECT_EQ(slow.end_of(at(10), microseconds(11)), at(51));
}

// 2 from 0 us on, without an end; times 3 from 10 us to 40 us; a pause from 20 us to 30 us.
TEST(SlowDowns, MultiplyWhereTheyOverlap) {
  const SlowDowns slow(std::vector<SlowDown>{
      {at(0), Time::never(), 2'000'000}, {at(10), at(40), 3'000'000}, {at(20), at(30), SlowDown::kPause}});
  EXPECT_EQ(slow.end_of(at(0), microseconds(5)), at(10));
  EXPECT_EQ(slow.end_of(at(10), microseconds(1)), at(16));
  // 5 us in 10 us, 10/6 us in 10 us, nothing in the pause, 10/6 us in 10 us, 1 us in 2 us: rounding costs 1 ps a change
  // at most, and there are four.
  const Time end = slow.end_of(at(0), microseconds(6) + Duration(3'333'333));
  EXPECT_GE(end, at(42) - nanoseconds(1));
  EXPECT_LE(end, at(42) + Duration(8));
}

TEST(SlowDowns, EndBeforeNever) {
  const SlowDowns slow(std::vector<SlowDown>{{at(0), Time::never(), 1'000'000'000'000}});
  EXPECT_EQ(slow.end_of(at(1), seconds(1'000'000)), Time(Time::never().ps - 1));
}

}  // namespace
}  // namespace rankwire
