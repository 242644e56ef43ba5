#include "base/units.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(SerializationTime, IsExactWhereTheRateAllows) {
  // One byte at 400 Gb/s is 8 / 400e9 s = 20 ps.
  EXPECT_EQ(serialization_time(Bytes(1), Bandwidth(400'000'000'000)), Duration(20));
  EXPECT_EQ(serialization_time(Bytes(0), Bandwidth(1)), Duration(0));
  // 1106 bytes of line for a 1024-byte packet at 400 Gb/s: 22.12 ns.
  EXPECT_EQ(serialization_time(Bytes(1106), Bandwidth(400'000'000'000)), Duration(22'120));
}

TEST(SerializationTime, RoundsUpToWholePicoseconds) {
  // 8 bits at 3 Gb/s are 2666.67 ps.
  EXPECT_EQ(serialization_time(Bytes(1), Bandwidth(3'000'000'000)), Duration(2'667));
  EXPECT_EQ(serialization_time(Bytes(3), Bandwidth(3'000'000'000)), Duration(8'000));
}

TEST(SerializationTime, DoesNotOverflow64Bits) {
  // 10^12 bytes at 1 Gb/s: 8000 s. In bit-picoseconds that is 8e24, beyond 2^64.
  EXPECT_EQ(serialization_time(Bytes(1'000'000'000'000), Bandwidth(1'000'000'000)), seconds(8'000));
}

TEST(Time, NeverIsAfterEverything) {
  EXPECT_GT(Time::never(), Time() + seconds(9'000'000));
  EXPECT_EQ((Time() + microseconds(3)) - (Time() + nanoseconds(1)), Duration(2'999'000));
}

}  // namespace
}  // namespace rankwire
