#include "emulator/peer/measurement.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

constexpr Time at(int64_t us) {
  return Time() + microseconds(us);
}

TEST(ThroughputMeter, AddsUpMessagesOfOneKindAndSize) {
  ThroughputMeter meter;
  // Two queue pairs: the messages overlap, and the one that began first ends last.
  meter.add("WRITE", Bytes(1000), at(10), at(40));
  meter.add("WRITE", Bytes(1000), at(20), at(30));
  meter.add("WRITE", Bytes(2000), at(50), at(60));
  meter.add("SEND", Bytes(2000), at(70), at(70));
  ASSERT_EQ(meter.throughputs().size(), 3u);
  EXPECT_EQ(meter.throughputs()[0].messages, 2u);
  // 2 x 1000 B x 8 in 40 - 10 us.
  EXPECT_DOUBLE_EQ(meter.throughputs()[0].bits_per_second(), 16'000 / 30e-6);
  EXPECT_DOUBLE_EQ(meter.throughputs()[1].bits_per_second(), 16'000 / 10e-6);
  EXPECT_EQ(meter.throughputs()[2].bits_per_second(), 0) << "all came at once";
}

TEST(ThroughputMeter, PacketsThatLeaveExtendWhatCameLast) {
  ThroughputMeter meter;
  meter.extend(at(5));
  EXPECT_TRUE(meter.throughputs().empty());
  meter.add("READ", Bytes(1000), at(10), at(10));
  meter.extend(at(30));
  meter.extend(at(20));
  EXPECT_EQ(meter.throughputs()[0].last_packet, at(30));
}

TEST(TurnAroundMeter, HalvesTheTimeBetweenMessagesAndLeavesOutTheTwoLargest) {
  TurnAroundMeter meter;
  // Intervals of 10, 40, 20, 100, 30 us: the mean of 5, 10 and 15 us.
  for (const int64_t us : {0, 10, 50, 70, 170, 200}) meter.add(Bytes(2), at(us));
  ASSERT_EQ(meter.turns().size(), 1u);
  EXPECT_EQ(meter.turns()[0].half_round_trip.count(), 5u);
  EXPECT_EQ(meter.turns()[0].half_round_trip.min(), microseconds(5));
  EXPECT_EQ(meter.turns()[0].half_round_trip.max(), microseconds(50));
  EXPECT_EQ(meter.turns()[0].mean(), microseconds(10));
}

TEST(TurnAroundMeter, TheTimeBetweenTwoSizesBelongsToNeither) {
  TurnAroundMeter meter;
  meter.add(Bytes(2), at(0));
  meter.add(Bytes(2), at(10));
  meter.add(Bytes(4), at(1000));
  meter.add(Bytes(4), at(1020));
  ASSERT_EQ(meter.turns().size(), 2u);
  EXPECT_EQ(meter.turns()[0].half_round_trip.max(), microseconds(5));
  EXPECT_EQ(meter.turns()[1].half_round_trip.max(), microseconds(10));
  EXPECT_EQ(meter.turns()[1].mean(), Duration()) << "of one interval";
}

}  // namespace
}  // namespace rankwire
