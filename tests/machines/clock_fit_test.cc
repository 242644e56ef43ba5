// Clocks from questions and answers whose delays are known.
#include "emulator/machines/clock_fit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace rankwire {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

/// The other clock is `ahead` ns ahead at 0 and gains `drift`; the question takes `there` ns and the answer `back`.
ClockSample ask(int64_t at, int64_t there, int64_t back, int64_t ahead, double drift = 0) {
  const int64_t answered = at + there;
  return {.sent = at,
          .answered = answered + ahead + static_cast<int64_t>(drift * static_cast<double>(answered)),
          .received = answered + back};
}

// Stepped by 50 ms. The quickest of three takes 10 us there and 14 us back: half of that is 12, so the answer seems to
// have been given 2 us later than it was, and the clock 2 us less ahead.
TEST(ClockFit, TheQuickestAnswerCounts) {
  constexpr int64_t kStep = 50'000'000;
  const std::vector samples{ask(0, 300'000, 20'000, kStep), ask(400'000, 10'000, 14'000, kStep),
                            ask(500'000, 20'000, 700'000, kStep)};
  const ClockFit fit = fit_clock(samples);
  EXPECT_EQ(fit.offset_at(0), kStep - 2'000);
  EXPECT_EQ(fit.error, microseconds(12));
  EXPECT_FALSE(fit.drift_known);
}

TEST(ClockFit, WhatOneBurstSaysIsTrueWithinItsError) {
  for (const int64_t there : {1'000, 5'000, 9'000}) {
    const std::vector samples{ask(0, there, 10'000 - there, -7'000'000)};
    const ClockFit fit = fit_clock(samples);
    EXPECT_LE(std::abs(fit.offset_at(0) + 7'000'000) * 1000, fit.error.ps);
  }
}

// 40 ppm over 10 s are 400 us; in between the line is right, though nobody asked.
TEST(ClockFit, TwoBurstsTellTheDrift) {
  constexpr double kDrift = 40e-6;
  std::vector<ClockSample> samples;
  for (int64_t i = 0; i < 20; ++i) samples.push_back(ask(i * 100'000, 8'000, 8'000, 1'000, kDrift));
  for (int64_t i = 0; i < 20; ++i) samples.push_back(ask(10 * kSecond + i * 100'000, 8'000, 8'000, 1'000, kDrift));
  const ClockFit fit = fit_clock(samples);
  EXPECT_TRUE(fit.drift_known);
  EXPECT_NEAR(fit.drift, kDrift, 1e-9);
  EXPECT_NEAR(static_cast<double>(fit.offset_at(5 * kSecond)), 1'000 + 200'000, 2);
  EXPECT_GE(fit.error, microseconds(8));
  EXPECT_LT(fit.error, microseconds(9));
}

// The bound is half a round trip from the line: a clock that does not keep to it says so.
TEST(ClockFit, AClockThatJumpsBetweenBurstsHasALargeError) {
  std::vector<ClockSample> samples;
  for (const auto& [at, ahead] : {std::pair(int64_t{0}, 0), {kSecond, 300'000}, {2 * kSecond, 0}})
    samples.push_back(ask(at, 1'000, 1'000, ahead));
  // Level at a third of the step; the middle one is two thirds away.
  EXPECT_NEAR(static_cast<double>(fit_clock(samples).error.ps), 201e6, 1e5);
}

TEST(ClockFit, WithoutDriftTheErrorGrowsWithTime) {
  const std::vector samples{ask(0, 1'000, 1'000, 0)};
  // 100 ppm of a second.
  EXPECT_EQ(fit_clock(samples).error_after(seconds(1)), microseconds(1) + microseconds(100));
}

/// A clock in common reads `source` when the own clock is `ahead` of it.
SourceReading beside(int64_t source, int64_t ahead, int64_t half) {
  return {.own = source + ahead, .source = source, .half = half};
}

// Read 2 ms later there, where the clock is 50 ms ahead of this one's: 100 ppm of 2 ms, 200 ns, is what the drift may
// have been in between.
TEST(ClockFit, AClockInCommonTellsTheOffset) {
  constexpr int64_t kAhead = 7 * kSecond;
  const std::vector here{beside(1'000 * kSecond, kAhead, 30)};
  const std::vector there{beside(1'000 * kSecond + 2'000'000, kAhead + 50'000'000, 40)};
  const ClockFit fit = fit_by_source(here, there, microseconds(1));
  EXPECT_FALSE(fit.drift_known);
  EXPECT_EQ(fit.offset_at(1'007 * kSecond), 50'000'000);
  EXPECT_EQ(fit.error, microseconds(1) + nanoseconds(30 + 40 + 200));
}

// This clock gains 10 ppm on the one in common and the other's 30, so that it gains 20 on this one, a little less by
// this one's seconds. It is read 3 s later there at the end, which is corrected: nothing is left but the readings' own
// errors.
TEST(ClockFit, TwoReadingsOfEachTellTheDrift) {
  const auto here = [](int64_t source) { return beside(source, source / 100'000, 30); };
  const auto there = [](int64_t source) { return beside(source, 50'000'000 + source * 3 / 100'000, 40); };
  const std::vector own{here(kSecond), here(101 * kSecond)}, other{there(2 * kSecond), there(104 * kSecond)};
  const ClockFit fit = fit_by_source(own, other, Duration());
  EXPECT_TRUE(fit.drift_known);
  EXPECT_NEAR(fit.drift, 20e-6, 1e-9);
  EXPECT_EQ(fit.error, nanoseconds(70));
  // When the source says 60 s.
  EXPECT_NEAR(static_cast<double>(fit.offset_at(here(60 * kSecond).own)), 50'000'000 + 60 * 20'000, 1);
}

TEST(ClockFit, TwoThatMayBeWrongCanBothBeWhereTheyMeet) {
  const ClockFit pings{.at = 0, .offset = 1'000, .drift_known = true, .error = microseconds(30)};
  ClockFit source{.at = 0, .offset = 31'500, .drift_known = true, .error = nanoseconds(500)};
  EXPECT_TRUE(can_both_be(pings, source, 0));
  source.offset = 31'501;
  EXPECT_FALSE(can_both_be(pings, source, 0));
  // 100 ppm of 10 us, where its drift is not known.
  source.drift_known = false;
  EXPECT_TRUE(can_both_be(pings, source, 10'000));
}

TEST(ClockError, IsToldWithoutPowersOfTen) {
  EXPECT_EQ(error_text(nanoseconds(1)), "0.001 us");
  EXPECT_EQ(error_text(nanoseconds(12'340)), "12.3 us");
  EXPECT_EQ(error_text(nanoseconds(4'139'600)), "4140 us");
  EXPECT_EQ(error_text(milliseconds(100)), "100000 us");
}

}  // namespace
}  // namespace rankwire
