#include "emulator/device_counters/device_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace rankwire {
namespace {

constexpr int64_t kUs = 1'000, kMs = 1'000'000, kSecond = 1'000'000'000;

TEST(DeviceClock, WithoutStampsTheMiddleOfTheCallCounts) {
  const std::vector<SampleTimes> samples = {{.asked = 100, .arrived = 150, .stamp = {}},
                                            {.asked = 200, .arrived = 207, .stamp = {}}};
  const DeviceClockFit clock = fit_device_clock(samples, {});
  EXPECT_FALSE(clock.ahead);
  EXPECT_EQ(clock.times[0].at, 125);
  EXPECT_EQ(clock.times[0].error, 25);
  EXPECT_EQ(clock.times[1].at, 203);
  EXPECT_EQ(clock.times[1].error, 4);  // of 7, rounded up
}

TEST(DeviceClock, WithoutStampsAStreamIsAsLateAsNobodyKnows) {
  const DeviceClockFit clock = fit_device_clock(std::vector<SampleTimes>{{.asked = {}, .arrived = 5, .stamp = {}}}, {});
  EXPECT_EQ(clock.times[0].at, 5);
  EXPECT_FALSE(clock.times[0].error);
}

// The device is 1 s ahead. Calls take 2 ms; the first is stamped 0.5 ms after it began, the second 0.5 ms before its
// end. Of the first: ahead by 1 s + 0.5 ms - 2 ms .. 1 s + 0.5 ms; of the second: 1 s - 0.5 ms .. 1 s + 1.5 ms.
// Together 1 s - 0.5 ms .. 1 s + 0.5 ms: 1 s, within 0.5 ms and the drift of the 10 ms between the arrivals, 0.5 us.
TEST(DeviceClock, CallsBoundTheOffsetFromBothSides) {
  const std::vector<SampleTimes> samples = {
      {.asked = 0, .arrived = 2 * kMs, .stamp = kSecond + kMs / 2},
      {.asked = 10 * kMs, .arrived = 12 * kMs, .stamp = kSecond + 12 * kMs - kMs / 2}};
  const DeviceClockFit clock = fit_device_clock(samples, {});
  EXPECT_EQ(clock.ahead, kSecond);
  EXPECT_EQ(clock.steps, 0u);
  EXPECT_EQ(clock.times[0].at, kMs / 2);
  EXPECT_EQ(clock.times[1].at, 12 * kMs - kMs / 2);
  EXPECT_EQ(clock.times[1].error, kMs / 2 + kUs / 2);
}

// Behind by 3 s; samples travel 5, 1 and 40 ms, by which times would be 1 ms late. The quickest took 0 to 8 ms, twice
// the round trip: 4 ms are taken off, which is the error, and the drift of 2.035 s, 101.75 us.
TEST(DeviceClock, StreamsAreBoundedByTheQuickestSampleAndTheRoundTrip) {
  std::vector<SampleTimes> samples;
  const int64_t delays[] = {5 * kMs, kMs, 40 * kMs};
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t real = 10 * kSecond + i * kSecond;
    samples.push_back({.asked = {}, .arrived = real + delays[i], .stamp = real - 3 * kSecond});
  }
  const DeviceClockFit clock = fit_device_clock(samples, 4 * kMs);
  EXPECT_EQ(clock.ahead, -3 * kSecond + 3 * kMs);
  EXPECT_EQ(clock.times[2].at, 12 * kSecond - 3 * kMs);
  EXPECT_EQ(clock.times[2].error, 4 * kMs + 101'750);
  EXPECT_FALSE(fit_device_clock(samples, {}).times[0].error);
}

// It runs 200 ms ahead from the 6th sample on.
TEST(DeviceClock, AStepOfAPolledClockIsFoundAndBothSidesAreRight) {
  std::vector<SampleTimes> samples;
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t real = i * 100 * kMs;
    samples.push_back({.asked = real - kMs, .arrived = real + kMs, .stamp = real + (i >= 5 ? 200 * kMs : 0)});
  }
  const DeviceClockFit clock = fit_device_clock(samples, {});
  EXPECT_EQ(clock.steps, 1u);
  EXPECT_EQ(clock.ahead, 200 * kMs);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(clock.times[static_cast<size_t>(i)].at, i * 100 * kMs);
}

/// A stream every second whose i-th sample is late by `late(i)` and whose clock is ahead by `ahead(i)`.
template <class Late, class Ahead>
DeviceClockFit fitted_stream(int64_t samples, Late late, Ahead ahead) {
  std::vector<SampleTimes> all;
  for (int64_t i = 0; i < samples; ++i)
    all.push_back({.asked = {}, .arrived = i * kSecond + late(i), .stamp = i * kSecond + ahead(i)});
  return fit_device_clock(all, kMs);
}

TEST(DeviceClock, AStreamWhoseClockIsSetForwardOrBackHasOneStep) {
  for (const int64_t step : {-500 * kMs, 500 * kMs}) {
    const DeviceClockFit clock = fitted_stream(
        12, [](int64_t) { return kMs; }, [&](int64_t i) { return i >= 6 ? step : int64_t{0}; });
    EXPECT_EQ(clock.steps, 1u) << step;
    // Late by 1 ms, the round trip: no error is left.
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(clock.times[i].at, static_cast<int64_t>(i) * kSecond) << step;
  }
}

// A network that stands still gives its samples out one after the other, later by less and less.
TEST(DeviceClock, WhatIsMerelyLateIsNoStep) {
  const DeviceClockFit clock = fitted_stream(
      12, [](int64_t i) { return i >= 4 && i < 8 ? (8 - i) * kSecond + kMs : kMs; },
      [](int64_t) { return int64_t{0}; });
  EXPECT_EQ(clock.steps, 0u);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(clock.times[i].at, static_cast<int64_t>(i) * kSecond);
}

// 50 us a second for two minutes: each fit is of one minute, within which the drift is 3 ms.
TEST(DeviceClock, DriftIsNoStepAndWithinTheError) {
  std::vector<SampleTimes> samples;
  for (int64_t i = 0; i < 120; ++i) {
    const int64_t real = i * kSecond;
    samples.push_back({.asked = real - kMs, .arrived = real + kMs, .stamp = real + i * 50 * kUs});
  }
  const DeviceClockFit clock = fit_device_clock(samples, {});
  EXPECT_EQ(clock.steps, 0u);
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t off = clock.times[i].at - static_cast<int64_t>(i) * kSecond;
    EXPECT_LE(std::abs(off), *clock.times[i].error) << i;
  }
}

}  // namespace
}  // namespace rankwire
