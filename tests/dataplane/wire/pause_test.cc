#include "dataplane/wire/pause.h"

#include <gtest/gtest.h>

#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire {
namespace {

using testing::frame_over;
using testing::FrameBytes;
using testing::from_hex;
using testing::linear;

constexpr MacAddress kStation{{2, 0, 0, 0, 0, 1}};

// Put together by hand from IEEE 802.3-2018 figures 31D-1 and 31B-1, and decoded by tshark as "Priority 3, 65535
// quanta" and "Pause, 4660 quanta".
const std::string kPriorityHex =
    "0180c20000010200000000018808010100080000000000" + std::string("00ffff") + std::string(2 * (60 - 26), '0');
const std::string kGlobalHex = "0180c200000102000000000188080001" + std::string("1234") + std::string(2 * 42, '0');

std::optional<PauseFrame> read(FrameBytes bytes) {
  return read_pause(frame_over(bytes));
}

FrameBytes written_pause(const PauseFrame& pause) {
  FrameBytes bytes(kPauseFrameBytes, 0xEE);
  Frame frame;
  frame.head = bytes.data();
  write_pause(kStation, pause, frame);
  return linear(frame);
}

PauseFrame global(uint16_t quanta) {
  PauseFrame pause{.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities};
  pause.quanta.fill(quanta);
  return pause;
}

TEST(PauseFrame, PriorityAsOnTheWire) {
  const FrameBytes bytes = from_hex(kPriorityHex);
  ASSERT_EQ(bytes.size(), 60u);
  EXPECT_EQ(read(bytes), priority_pause(priority_bit(3), 65535));
  EXPECT_EQ(written_pause(priority_pause(priority_bit(3), 65535)), bytes);
}

TEST(PauseFrame, GlobalAsOnTheWire) {
  const FrameBytes bytes = from_hex(kGlobalHex);
  ASSERT_EQ(bytes.size(), 60u);
  EXPECT_EQ(read(bytes), global(0x1234));
  EXPECT_EQ(written_pause(global(0x1234)), bytes);
}

TEST(PauseFrame, EveryPriorityHasItsOwnQuanta) {
  PauseFrame pause{.priorities = 0b1010'0101};
  pause.quanta = {1, 0, 0, 0, 0, 0x0506, 0, 0xFFFE};  // priority 2 is told to go on
  const FrameBytes bytes = written_pause(pause);
  EXPECT_EQ(read(bytes), pause);
  // Opcode, class-enable vector, quanta of priorities 0, 1 and 2 at octets 14, 16, 18, 20, 22.
  EXPECT_EQ(FrameBytes(bytes.begin() + 14, bytes.begin() + 24), from_hex("010100a5000100000000"));
  EXPECT_EQ(FrameBytes(bytes.begin() + 28, bytes.begin() + 34), from_hex("05060000fffe"));
}

TEST(PauseFrame, QuantaOfPrioritiesThatAreNotNamedAreIgnored) {
  FrameBytes bytes = from_hex(kPriorityHex);
  bytes[18] = 0x7F;  // priority 0
  bytes[16] = 0x01;  // the reserved octet
  bytes[59] = 0x55;  // padding
  EXPECT_EQ(read(bytes), priority_pause(priority_bit(3), 65535));
}

TEST(PauseFrame, WhatIsNone) {
  const FrameBytes good = from_hex(kPriorityHex);
  const auto with = [&](size_t at, uint8_t value) {
    FrameBytes bytes = good;
    bytes[at] = value;
    return bytes;
  };
  EXPECT_FALSE(read(with(5, 0x02))) << "another group address of the link";
  EXPECT_FALSE(read(with(13, 0x09))) << "slow protocols";
  EXPECT_FALSE(read(with(15, 0x02))) << "another opcode";
  // 18 octets up to the class-enable vector, 34 with the last quanta.
  for (size_t length = 0; length < 34; ++length)
    EXPECT_FALSE(read(FrameBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)))) << length;
  EXPECT_TRUE(read(FrameBytes(good.begin(), good.begin() + 34)));
  const FrameBytes global_bytes = from_hex(kGlobalHex);
  EXPECT_FALSE(read(FrameBytes(global_bytes.begin(), global_bytes.begin() + 17)));
  EXPECT_TRUE(read(FrameBytes(global_bytes.begin(), global_bytes.begin() + 18)));
}

TEST(PauseTime, AQuantumIs512BitTimes) {
  // 512 bits / rate, in picoseconds.
  constexpr int64_t kG = 1'000'000'000;
  EXPECT_EQ(pause_time(1, Bandwidth(10 * kG)), Duration(51'200));
  EXPECT_EQ(pause_time(1, Bandwidth(25 * kG)), Duration(20'480));
  EXPECT_EQ(pause_time(1, Bandwidth(100 * kG)), Duration(5'120));
  EXPECT_EQ(pause_time(1, Bandwidth(400 * kG)), Duration(1'280));
  EXPECT_EQ(pause_time(1, Bandwidth(800 * kG)), Duration(640));
  // 65535 x 1.28 ns = 83.8848 us.
  EXPECT_EQ(pause_time(65535, Bandwidth(400 * kG)), Duration(83'884'800));
  // 512 / 3e9 s = 170666.67 ps a quantum, rounded once, not quantum by quantum.
  EXPECT_EQ(pause_time(1, Bandwidth(3 * kG)), Duration(170'667));
  EXPECT_EQ(pause_time(3, Bandwidth(3 * kG)), Duration(512'000));
  EXPECT_EQ(pause_time(0, Bandwidth(kG)), Duration());
}

// At 512 Gb/s a quantum is one nanosecond.
constexpr Bandwidth kPausedRate{512'000'000'000};
constexpr Time after_quanta(int64_t ns) {
  return Time() + nanoseconds(ns);
}

TEST(PauseTimers, OnlyNamedPrioritiesStopAndGoOnAtTheQuantasEnd) {
  PauseTimers timers(kPausedRate);
  EXPECT_EQ(timers.paused(after_quanta(0)), 0);
  EXPECT_EQ(timers.next_expiry(after_quanta(0)), Time::never());
  timers.receive(priority_pause(priority_bit(3), 100), after_quanta(10));
  EXPECT_EQ(timers.paused(after_quanta(10)), priority_bit(3));
  EXPECT_EQ(timers.next_expiry(after_quanta(10)), after_quanta(110));
  EXPECT_EQ(timers.paused(after_quanta(110) - Duration(1)), priority_bit(3));
  EXPECT_EQ(timers.paused(after_quanta(110)), 0);
  EXPECT_EQ(timers.next_expiry(after_quanta(110)), Time::never());
  EXPECT_EQ(timers.time_paused(3, after_quanta(60)), nanoseconds(50));
  EXPECT_EQ(timers.time_paused(3, after_quanta(500)), nanoseconds(100));
  EXPECT_EQ(timers.time_paused(4, after_quanta(500)), Duration());
}

TEST(PauseTimers, ARefreshCountsFromItsOwnArrival) {
  PauseTimers timers(kPausedRate);
  timers.receive(priority_pause(priority_bit(3), 100), after_quanta(0));
  timers.receive(priority_pause(priority_bit(3), 100), after_quanta(90));
  EXPECT_EQ(timers.paused(after_quanta(189)), priority_bit(3));
  EXPECT_EQ(timers.paused(after_quanta(190)), 0);
  EXPECT_EQ(timers.time_paused(3, after_quanta(1000)), nanoseconds(190));
  // A shorter one replaces a longer one.
  timers.receive(priority_pause(priority_bit(3), 100), after_quanta(1000));
  timers.receive(priority_pause(priority_bit(3), 5), after_quanta(1010));
  EXPECT_EQ(timers.paused(after_quanta(1015)), 0);
  EXPECT_EQ(timers.time_paused(3, after_quanta(2000)), nanoseconds(190 + 15));
}

TEST(PauseTimers, ZeroQuantaLetGoOn) {
  PauseTimers timers(kPausedRate);
  timers.receive(priority_pause(priority_bit(3) | priority_bit(5), 100), after_quanta(0));
  timers.receive(priority_pause(priority_bit(3), 0), after_quanta(40));
  EXPECT_EQ(timers.paused(after_quanta(40)), priority_bit(5));
  EXPECT_EQ(timers.next_expiry(after_quanta(40)), after_quanta(100));
  EXPECT_EQ(timers.time_paused(3, after_quanta(90)), nanoseconds(40));
  EXPECT_EQ(timers.time_paused(5, after_quanta(90)), nanoseconds(90));
}

TEST(PauseTimers, GlobalPauseStopsAll) {
  PauseTimers timers(kPausedRate);
  timers.receive(global(10), after_quanta(0));
  EXPECT_EQ(timers.paused(after_quanta(9)), kAllPriorities);
  EXPECT_EQ(timers.paused(after_quanta(10)), 0);
}

TEST(PauseTimers, TimeBeforeTheRunIsNegative) {
  PauseTimers timers(kPausedRate);
  EXPECT_EQ(timers.paused(after_quanta(-1000)), 0);
  timers.receive(priority_pause(priority_bit(0), 100), after_quanta(-1000));
  EXPECT_EQ(timers.paused(after_quanta(-901)), priority_bit(0));
  EXPECT_EQ(timers.paused(after_quanta(-900)), 0);
}

}  // namespace
}  // namespace rankwire
