#include "dataplane/roce/receive_buffer.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// A byte drains in a nanosecond. At 512 Gb/s a quantum is one, so a pause of 65535 lasts 65.535 us.
constexpr ReceiveBufferOptions kBufferOptions{
    .drain_rate = Bandwidth(8'000'000'000), .size = Bytes(1000), .xoff = Bytes(500), .xon = Bytes(200)};
constexpr Bandwidth kPausingLine{512'000'000'000};

constexpr Time at_nanosecond(int64_t ns) {
  return Time() + nanoseconds(ns);
}

TEST(ReceiveBuffer, AsksForAPauseWhenItIsFullerThanXoff) {
  ReceiveBuffer buffer(kBufferOptions, kPausingLine);
  EXPECT_TRUE(buffer.take(500, at_nanosecond(0)));
  EXPECT_EQ(buffer.pause_due(), Time::never());
  EXPECT_TRUE(buffer.take(100, at_nanosecond(50)));  // 450 + 100 bytes
  EXPECT_LE(buffer.pause_due(), at_nanosecond(50));
  EXPECT_EQ(buffer.take_pause(at_nanosecond(60)), kMaxQuanta);
  // Empty at 600 ns, so 200 bytes are left at 400 ns.
  EXPECT_EQ(buffer.pause_due(), at_nanosecond(400));
  EXPECT_EQ(buffer.take_pause(at_nanosecond(400)), 0);
  EXPECT_EQ(buffer.pause_due(), Time::never());
}

TEST(ReceiveBuffer, MayBeExactlyAtXoff) {
  ReceiveBuffer buffer(kBufferOptions, kPausingLine);
  buffer.take(500, at_nanosecond(0));
  buffer.take(1, at_nanosecond(1));
  EXPECT_EQ(buffer.pause_due(), Time::never());
  buffer.take(1, at_nanosecond(1));
  EXPECT_NE(buffer.pause_due(), Time::never());
}

TEST(ReceiveBuffer, WhatArrivesDuringAPauseDefersItsEnd) {
  ReceiveBuffer buffer(kBufferOptions, kPausingLine);
  buffer.take(600, at_nanosecond(0));
  EXPECT_EQ(buffer.take_pause(at_nanosecond(0)), kMaxQuanta);
  EXPECT_EQ(buffer.pause_due(), at_nanosecond(400));
  buffer.take(150, at_nanosecond(10));
  EXPECT_EQ(buffer.pause_due(), at_nanosecond(550));
}

TEST(ReceiveBuffer, RefreshesAPauseBeforeItExpires) {
  ReceiveBufferOptions slow = kBufferOptions;
  slow.drain_rate = Bandwidth(8'000'000);  // a byte in a microsecond
  ReceiveBuffer buffer(slow, kPausingLine);
  buffer.take(600, at_nanosecond(0));
  EXPECT_EQ(buffer.take_pause(at_nanosecond(0)), kMaxQuanta);
  EXPECT_EQ(buffer.pause_due(), Time() + Duration(32'767'500));
  EXPECT_EQ(buffer.take_pause(buffer.pause_due()), kMaxQuanta);
  EXPECT_EQ(buffer.pause_due(), Time() + Duration(65'535'000));
}

TEST(ReceiveBuffer, LosesWhatDoesNotFit) {
  ReceiveBuffer buffer(kBufferOptions, kPausingLine);
  EXPECT_TRUE(buffer.take(1000, at_nanosecond(0)));
  EXPECT_FALSE(buffer.take(101, at_nanosecond(100)));
  EXPECT_TRUE(buffer.take(100, at_nanosecond(100)));
  EXPECT_FALSE(buffer.take(1, at_nanosecond(100)));
}

}  // namespace
}  // namespace rankwire
