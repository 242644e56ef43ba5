#include "dataplane/dpdk/device_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rankwire {
namespace {

/// A device whose counter begins anywhere and runs at its own rate, and a reader that sees it with some delay.
struct StampingDevice {
  double ps_per_tick = 1000;  // 1 GHz
  uint64_t first = 0;         // at time 0
  Duration stepped;           // of the run's clock

  uint64_t ticks(Time real) const {
    return first + static_cast<uint64_t>(std::llround(static_cast<double>(real.ps) / ps_per_tick));
  }
  /// Read at `real`, `after` a reading of the run's clock and `before` the next one.
  DeviceClock::Reading reading(Time real, Duration after, Duration before) const {
    return {ticks(real), real - after + stepped, real + before + stepped};
  }
};

constexpr Time at_millisecond(int64_t n) {
  return Time(milliseconds(n).ps);
}

TEST(DeviceClock, IsNotReadyWithOneReading) {
  DeviceClock clock;
  EXPECT_FALSE(clock.ready());
  EXPECT_EQ(clock.arrival(5, Time(7)), Time(7));
  clock.add({1000, Time(0), Time(10)});
  EXPECT_FALSE(clock.ready()) << "no rate";
  EXPECT_EQ(clock.arrival(5, Time(7)), Time(7));
  EXPECT_EQ(clock.error(), Duration(0));
}

// Middles (1000, 0) and (2000, 1 us): 1000 ps a tick. Tick 1500 is at 500 ns, tick 3000 at 2 us.
TEST(DeviceClock, TwoReadingsMakeALine) {
  DeviceClock clock;
  clock.add({1000, Time(-50), Time(50)});
  clock.add({2000, Time(999'950), Time(1'000'050)});
  ASSERT_TRUE(clock.ready());
  EXPECT_EQ(clock.at(1500), Time(500'000));
  EXPECT_EQ(clock.at(3000), Time(2'000'000));
  EXPECT_EQ(clock.error(), Duration(50)) << "both lie on the line, half of 100 wide";
}

// 156.25 MHz is 6.4 ns a tick; the counter wraps at 64 bits between the readings.
TEST(DeviceClock, TheCounterMayWrap) {
  const StampingDevice device{.ps_per_tick = 6400, .first = UINT64_MAX - 1000};
  DeviceClock clock;
  for (int64_t ms = 0; ms < 10; ++ms) {
    clock.add(device.reading(at_millisecond(ms), nanoseconds(10), nanoseconds(10)));
  }
  EXPECT_EQ(clock.at(device.ticks(at_millisecond(9))), at_millisecond(9));
  // 1 us before the counter's 1000 ticks to the wrap are over, and after it.
  EXPECT_EQ(clock.at(device.ticks(Time(6'400'000 - 1'600'000))), Time(4'800'000));
  EXPECT_EQ(clock.at(device.ticks(Time(6'400'000 + 6'400'000))), Time(12'800'000));
}

// A 1 GHz counter that is 40 ppm fast: after 64 ms it would be 2.56 us off without a fit. Readings are 20 ns wide, so
// the line is within 10 ns of the truth everywhere between them.
TEST(DeviceClock, FollowsAnOscillatorThatIsOff) {
  const StampingDevice device{.ps_per_tick = 1000 / 1.00004, .first = 123'456'789'012};
  DeviceClock clock;
  for (int64_t ms = 0; ms <= 100; ++ms) {
    clock.add(device.reading(at_millisecond(ms), nanoseconds(10), nanoseconds(10)));
  }
  for (int64_t ps = at_millisecond(40).ps; ps <= at_millisecond(101).ps; ps += 777'777'777) {
    EXPECT_NEAR(static_cast<double>(clock.at(device.ticks(Time(ps))).ps), static_cast<double>(ps), 10'000.0);
  }
  EXPECT_GE(clock.error(), nanoseconds(10));
  EXPECT_LE(clock.error(), nanoseconds(12));
}

// Turns of the loop last 0.2 .. 20 us, now and then a millisecond. The error that the clock names holds for most
// stamps.
TEST(DeviceClock, WideReadingsCountLittleAndTheErrorIsHonest) {
  std::mt19937_64 random(42);
  std::lognormal_distribution<double> turn(std::log(1e6), 1.0);  // ps
  std::uniform_real_distribution<double> part(0.0, 1.0);
  const StampingDevice device{.ps_per_tick = 1.0e6 / 1.4e3};
  DeviceClock clock;
  int within = 0, checked = 0;
  for (int64_t ms = 0; ms < 500; ++ms) {
    const double width = ms % 50 == 7 ? 1e9 : turn(random), before = part(random) * width;
    const Time real = at_millisecond(2 * ms);
    clock.add(
        device.reading(real, Duration(static_cast<int64_t>(before)), Duration(static_cast<int64_t>(width - before))));
    if (ms < 64) continue;
    const Duration off = clock.at(device.ticks(real)) - real;
    within += std::abs(off.ps) <= clock.error().ps;
    ++checked;
  }
  EXPECT_GE(within, checked * 95 / 100) << "of " << checked;
  EXPECT_LE(clock.error(), microseconds(2)) << "the median turn is 1 us";
}

// The run's clock jumps from -40 s to 0 when the run begins. The rate is known, so one reading is enough afterwards.
TEST(DeviceClock, AStepOfTheRunsClockKeepsTheRate) {
  StampingDevice device{.ps_per_tick = 800, .first = 77, .stepped = seconds(-40)};
  DeviceClock clock;
  for (int64_t ms = 1; ms <= 5; ++ms) {
    clock.add(device.reading(at_millisecond(ms), nanoseconds(100), nanoseconds(100)));
  }
  device.stepped = Duration(0);
  const Time now = at_millisecond(7);
  EXPECT_EQ(clock.arrival(device.ticks(now), now), now) << "a line of before the step is not believed";
  clock.add(device.reading(at_millisecond(6), nanoseconds(100), nanoseconds(100)));
  ASSERT_TRUE(clock.ready());
  const Time found = now + microseconds(3);
  EXPECT_NEAR(static_cast<double>((clock.arrival(device.ticks(now), found) - now).ps), 0, 1000.0);
  EXPECT_LE(clock.error(), nanoseconds(101));
}

// A reading that straddles the step is as wide as the step. It may begin a line that is wrong, never one that lasts.
TEST(DeviceClock, RecoversFromAReadingAcrossAStep) {
  StampingDevice device{.ps_per_tick = 800, .stepped = seconds(-40)};
  DeviceClock clock;
  clock.add(device.reading(at_millisecond(1), nanoseconds(100), nanoseconds(100)));
  clock.add(device.reading(at_millisecond(2), nanoseconds(100), seconds(40)));
  device.stepped = Duration(0);
  for (int64_t ms = 3; ms <= 6; ++ms) {
    clock.add(device.reading(at_millisecond(ms), nanoseconds(100), nanoseconds(100)));
  }
  EXPECT_NEAR(static_cast<double>((clock.at(device.ticks(at_millisecond(6))) - at_millisecond(6)).ps), 0, 1000.0);
}

// The stamp says that the frame arrived 2 us before the loop found it, or 300 ns after `now` was read.
TEST(DeviceClock, ArrivalsMayLieOnEitherSideOfNow) {
  DeviceClock clock;
  clock.add({0, Time(0), Time(0)});
  clock.add({1'000'000, at_millisecond(1), at_millisecond(1)});
  const Time now = at_millisecond(1);
  EXPECT_EQ(clock.arrival(998'000, now), now - microseconds(2));
  EXPECT_EQ(clock.arrival(1'000'300, now), now + nanoseconds(300));
  // 100 ms are the most that is believed.
  EXPECT_EQ(clock.arrival(101'000'000, now), now + milliseconds(100));
  EXPECT_EQ(clock.arrival(101'000'001, now), now);
  EXPECT_EQ(clock.arrival(UINT64_MAX / 2, now), now);
}

}  // namespace
}  // namespace rankwire
