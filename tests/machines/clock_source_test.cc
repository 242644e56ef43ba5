// Clocks in common, of a system whose clocks and devices are known.
#include "emulator/machines/clock_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/ptp_clock.h>

#include <cerrno>
#include <functional>
#include <string>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNanoseconds = 1'000'000'000;

ptp_clock_time split(int64_t time) {
  ptp_clock_time result{};
  result.sec = time / kNanoseconds, result.nsec = static_cast<uint32_t>(time % kNanoseconds);
  return result;
}

/// CLOCK_MONOTONIC is the time; the others are ahead of it. Each reading takes `cost`, and is of its middle.
class FakeClocks final : public ClockSystem {
 public:
  static constexpr int kDescriptor = 5;

  int open(const std::string& file) override {
    opened = file;
    return file == device ? kDescriptor : -ENOENT;
  }
  void close(int descriptor) override { closed += descriptor == kDescriptor; }
  int time(clockid_t clock, timespec& now) override {
    int64_t ahead = 0;
    if (clock == CLOCK_REALTIME) ahead = realtime_ahead;
    // clock_gettime(2), FD_TO_CLOCKID: (~5 << 3) | 3
    if (clock == -45) ahead = device_ahead;
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME && clock != -45) return EINVAL;
    if (clock == -45 && !has_dynamic) return EOPNOTSUPP;
    const int64_t takes = cost();
    const int64_t told = at + takes / 2 + ahead;
    at += takes;
    now.tv_sec = told / kNanoseconds, now.tv_nsec = told % kNanoseconds;
    return 0;
  }
  int control(int descriptor, unsigned long request, void* argument) override {
    EXPECT_EQ(descriptor, kDescriptor);
    ++controls;
    on_control();
    at += 40'000;  // the system call
    if (request == PTP_SYS_OFFSET_PRECISE && has_precise) {
      auto& reading = *static_cast<ptp_sys_offset_precise*>(argument);
      reading.device = split(at + device_ahead), reading.sys_realtime = split(at + realtime_ahead);
      return 0;
    }
    if (request != PTP_SYS_OFFSET_EXTENDED || !has_extended) return EOPNOTSUPP;
    auto& readings = *static_cast<ptp_sys_offset_extended*>(argument);
    for (unsigned i = 0; i < readings.n_samples; ++i) {
      const int64_t half = i == 3 ? 200 : 900;
      readings.ts[i][0] = split(at + realtime_ahead);
      readings.ts[i][1] = split(at + half + device_ahead);
      readings.ts[i][2] = split(at + 2 * half + realtime_ahead);
      at += 5'000;
    }
    return 0;
  }
  int ask_interface(const std::string& interface, void* command) override {
    if (interface != "eth7") return ENODEV;
    auto& info = *static_cast<ethtool_ts_info*>(command);
    EXPECT_EQ(info.cmd, uint32_t{ETHTOOL_GET_TS_INFO});
    info.phc_index = index;
    return 0;
  }

  std::string device = "/dev/ptp2", opened;
  int index = 2, closed = 0, controls = 0;
  bool has_precise = false, has_extended = false, has_dynamic = true;
  int64_t at = 1'000 * kNanoseconds, realtime_ahead = 1'700'000'000 * kNanoseconds,
          device_ahead = 1'700'000'037 * kNanoseconds;
  std::function<int64_t()> cost = [] { return int64_t{20}; };
  std::function<void()> on_control = [] {};
};

/// The middles of three readings that take 20 ns each are 20 apart.
TEST(ClockSource, RealtimeIsReadBetweenTwoReadingsOfTheOwnClock) {
  FakeClocks clocks;
  ClockSource source("realtime", clocks);
  const SourceReading reading = source.read();
  EXPECT_EQ(reading.source - reading.own, clocks.realtime_ahead);
  EXPECT_EQ(reading.half, 20);
}

// Of 25 all but the seventh are held up.
TEST(ClockSource, TheQuickestReadingCounts) {
  FakeClocks clocks;
  int calls = 0;
  clocks.cost = [&] { return calls++ / 3 == 6 ? 20 : 3'000; };
  ClockSource source("realtime", clocks);
  const SourceReading reading = source.read();
  EXPECT_EQ(reading.source - reading.own, clocks.realtime_ahead);
  EXPECT_EQ(reading.half, 20);
}

// What the hardware has latched is exact to the nanosecond; CLOCK_REALTIME beside the own clock is not.
TEST(ClockSource, AHardwareClockIsReadByItsHardware) {
  FakeClocks clocks;
  clocks.has_precise = clocks.has_extended = true;
  ClockSource source("/dev/ptp2", clocks);
  const SourceReading reading = source.read();
  EXPECT_EQ(reading.source - reading.own, clocks.device_ahead);
  EXPECT_EQ(reading.half, 1 + 20);
}

// Of 25 the fourth has its readings 400 ns apart.
TEST(ClockSource, OrByItsDriver) {
  FakeClocks clocks;
  clocks.has_extended = true;
  ClockSource source("/dev/ptp2", clocks);
  const SourceReading reading = source.read();
  EXPECT_EQ(reading.source - reading.own, clocks.device_ahead);
  EXPECT_EQ(reading.half, 200 + 20);
}

TEST(ClockSource, OrAsADynamicClock) {
  FakeClocks clocks;
  {
    ClockSource source("/dev/ptp2", clocks);
    const SourceReading reading = source.read();
    EXPECT_EQ(reading.source - reading.own, clocks.device_ahead);
    EXPECT_EQ(reading.half, 20);
    EXPECT_EQ(clocks.closed, 0);
  }
  EXPECT_EQ(clocks.closed, 1);
}

TEST(ClockSource, AnInterfaceHasTheClockThatEthtoolSays) {
  FakeClocks clocks;
  const ClockSource source("eth7", clocks);
  EXPECT_EQ(clocks.opened, "/dev/ptp2");
  EXPECT_EQ(source.name(), "/dev/ptp2");
}

// CLOCK_REALTIME is set by a second after the device was read beside it, once; the first reading was the constructor's.
TEST(ClockSource, WhatWasReadWhileTheSystemsClockWasSetDoesNotCount) {
  FakeClocks clocks;
  clocks.has_precise = true;
  ClockSource source("/dev/ptp2", clocks);
  EXPECT_EQ(clocks.controls, 1);
  clocks.on_control = [&] {
    if (clocks.controls == 2) clocks.realtime_ahead += kNanoseconds;
  };
  const SourceReading reading = source.read();
  EXPECT_EQ(reading.source - reading.own, clocks.device_ahead);
  EXPECT_EQ(clocks.controls, 3);
  clocks.on_control = [&] { clocks.realtime_ahead += kNanoseconds; };
  EXPECT_THROW(source.read(), Error);
}

std::string refusal(const std::string& source, FakeClocks& clocks) {
  try {
    const ClockSource made(source, clocks);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "none";
}

TEST(ClockSource, WhatIsNoClockIsRefused) {
  FakeClocks clocks;
  EXPECT_THAT(refusal("/dev/ptp9", clocks), HasSubstr("/dev/ptp9 cannot be opened: No such file"));
  EXPECT_THAT(refusal("pong", clocks), HasSubstr("'pong' is neither 'ping' nor 'realtime'"));
  clocks.has_dynamic = false;
  EXPECT_THAT(refusal("/dev/ptp2", clocks), HasSubstr("/dev/ptp2 is no clock"));
  EXPECT_EQ(clocks.closed, 1);
  clocks.index = -1;
  EXPECT_THAT(refusal("eth7", clocks), HasSubstr("'eth7' has no PTP hardware clock"));
}

// Of this machine.
TEST(ClockSource, TheSystemsOwnIsReadAsItIs) {
  ClockSource source("realtime");
  timespec before{}, after{};
  ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &before), 0);
  const SourceReading reading = source.read();
  ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &after), 0);
  EXPECT_GE(reading.own, before.tv_sec * kNanoseconds + before.tv_nsec);
  EXPECT_LE(reading.own, after.tv_sec * kNanoseconds + after.tv_nsec);
  EXPECT_GE(reading.half, 0);
}

}  // namespace
}  // namespace rankwire
