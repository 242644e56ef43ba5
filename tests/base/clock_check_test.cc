#include "base/clock_check.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// In a second of CLOCK_MONOTONIC_RAW the other passes 20 us more: 20 ppm. The counter has 2 ticks a nanosecond of that
// second; halfway between CLOCK_MONOTONIC was 300 ns ahead, read within 50 ns on either side.
TEST(ClockError, IsTheSlewAndTheDistanceFromALine) {
  const ClockReading readings[] = {{.monotonic = 1'000, .raw = 500, .ticks = 10, .width = 0},
                                   {.monotonic = 1'000 + 500'010'300, .raw = 0, .ticks = 1'000'000'010, .width = 100},
                                   {.monotonic = 1'000 + 1'000'020'000, .raw = 1'000'000'500, .ticks = 2'000'000'010}};
  const auto error = clock_error(readings);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->time, nanoseconds(1'000'020'000));
  EXPECT_NEAR(error->slew_ppm, 20, 1e-6);
  ASSERT_TRUE(error->residual);
  EXPECT_EQ(*error->residual, nanoseconds(350));
}

TEST(ClockError, NeedsTimeAndForTheLineACounter) {
  const ClockReading first{.monotonic = 1, .raw = 1}, last{.monotonic = 1001, .raw = 1001};
  EXPECT_FALSE(clock_error({}));
  EXPECT_FALSE(clock_error(std::vector{first}));
  EXPECT_FALSE(clock_error(std::vector{first, first}));
  const auto without = clock_error(std::vector{first, first, last});
  ASSERT_TRUE(without);
  EXPECT_EQ(without->slew_ppm, 0);
  EXPECT_FALSE(without->residual);
}

TEST(ClockError, TakesCountersThatRunEvenly) {
  EXPECT_TRUE(has_even_ticks("flags\t\t: fpu tsc rdtscp constant_tsc rep_good nopl nonstop_tsc cpuid\n"));
  EXPECT_FALSE(has_even_ticks("flags\t\t: fpu tsc rdtscp constant_tsc\n"));
  EXPECT_FALSE(has_even_ticks(""));
}

TEST(ClockReading, ReadsClocksThatGoOn) {
  const ClockReading first = read_clocks(), second = read_clocks();
  EXPECT_GT(second.monotonic, first.monotonic);
  EXPECT_GT(second.raw, first.raw);
  EXPECT_GE(first.width, 0);
}

}  // namespace
}  // namespace rankwire
