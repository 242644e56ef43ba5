#include "emulator/simulator/roofline.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// 100 Tflop/s and 16 Tbit/s = 2 TB/s: the ridge point is at 50 flop a byte.
constexpr ComputeDevice kDevice{.peak_flops = 100'000'000'000'000, .memory_bandwidth = Bandwidth(16'000'000'000'000)};

TEST(Roofline, IsZeroForNothing) {
  EXPECT_EQ(roofline(0, Bytes(0), kDevice), Duration(0));
}

// 10^9 flop / 10^14 flop/s = 10 us; 10^6 bytes / 2 * 10^12 byte/s = 0.5 us.
TEST(Roofline, IsBoundByArithmeticAboveTheRidge) {
  EXPECT_EQ(roofline(1'000'000'000, Bytes(1'000'000), kDevice), microseconds(10));
}

// 10^6 flop take 10 ns; 10^6 bytes take 500 ns.
TEST(Roofline, IsBoundByMemoryBelowTheRidge) {
  EXPECT_EQ(roofline(1'000'000, Bytes(1'000'000), kDevice), nanoseconds(500));
}

// One flop at 10^14 flop/s is 0.01 ps; 3 bytes at 2 byte/ps are 1.5 ps.
TEST(Roofline, RoundsUpToWholePicoseconds) {
  EXPECT_EQ(roofline(1, Bytes(0), kDevice), Duration(1));
  EXPECT_EQ(roofline(0, Bytes(3), kDevice), Duration(2));
}

// 2^62 flop x 10^12 ps/s does not fit 64 bits: 2^62 / 10^14 s = 46116.86018427387904 s, a whole number of picoseconds
// after rounding up the last digit.
TEST(Roofline, ComputesIn128BitsAndSaturates) {
  EXPECT_EQ(roofline(int64_t{1} << 62, Bytes(0), kDevice), Duration(46'116'860'184'273'880));
  EXPECT_EQ(roofline(int64_t{1} << 62, Bytes(0), {.peak_flops = 1, .memory_bandwidth = Bandwidth(1)}), Duration::max());
}

}  // namespace
}  // namespace rankwire
