#include "emulator/simulator/roofline.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// 100 Tflop/s and 16 Tbit/s = 2 TB/s: the ridge point is at 50 flop a byte.
constexpr ComputeDevice kDevice{.peak_flops = 100'000'000'000'000, .memory_bandwidth = Bandwidth(16'000'000'000'000)};

TEST(Roofline, IsZeroForNothing) {
  EXPECT_EQ(roofline(0, Bytes(0), kDevice).time, Duration(0));
}

// 10^9 flop / 10^14 flop/s = 10 us; 10^6 bytes / 2 * 10^12 byte/s = 0.5 us.
TEST(Roofline, IsBoundByArithmeticAboveTheRidge) {
  EXPECT_EQ(roofline(1'000'000'000, Bytes(1'000'000), kDevice).time, microseconds(10));
}

// 10^6 flop take 10 ns; 10^6 bytes take 500 ns.
TEST(Roofline, IsBoundByMemoryBelowTheRidge) {
  EXPECT_EQ(roofline(1'000'000, Bytes(1'000'000), kDevice).time, nanoseconds(500));
}

// One flop at 10^14 flop/s is 0.01 ps; 3 bytes at 2 byte/ps are 1.5 ps.
TEST(Roofline, RoundsUpToWholePicoseconds) {
  EXPECT_EQ(roofline(1, Bytes(0), kDevice).time, Duration(1));
  EXPECT_EQ(roofline(0, Bytes(3), kDevice).time, Duration(2));
}

// 2^62 flop x 10^12 ps/s does not fit 64 bits: 2^62 / 10^14 s = 46116.86018427387904 s, a whole number of picoseconds
// after rounding up the last digit.
TEST(Roofline, ComputesIn128BitsAndSaturates) {
  EXPECT_EQ(roofline(int64_t{1} << 62, Bytes(0), kDevice).time, Duration(46'116'860'184'273'880));
  EXPECT_EQ(roofline(int64_t{1} << 62, Bytes(0), {.peak_flops = 1, .memory_bandwidth = Bandwidth(1)}).time,
            Duration::max());
}

TEST(Roofline, SaysWhatBoundsAnOperation) {
  EXPECT_EQ(roofline(1'000'000'000, Bytes(1'000'000), kDevice).bound, RooflineBound::kArithmetic);
  EXPECT_EQ(roofline(1'000'000, Bytes(1'000'000), kDevice).bound, RooflineBound::kMemory);
}

// A quarter of the roofline takes four times as long; 10 us / 0.3 = 33.333333(3) us, rounded up.
TEST(Roofline, TakesLongerAtAShare) {
  EXPECT_EQ(roofline(1'000'000'000, Bytes(0), kDevice, 250'000).time, microseconds(40));
  EXPECT_EQ(roofline(1'000'000'000, Bytes(0), kDevice, 300'000).time, Duration(33'333'334));
  EXPECT_EQ(roofline(0, Bytes(1'000'000), kDevice, 500'000).time, microseconds(1));
}

// 2^63 - 1 bytes are 2^66 - 8 bits: at 10^12 bit/s and all of it 73,786,976 s, at a tenth of it more than fits.
TEST(Roofline, HasNoLimitBelowTheLongestDuration) {
  const ComputeDevice device{.peak_flops = 1, .memory_bandwidth = Bandwidth(1'000'000'000'000'000)};
  EXPECT_EQ(roofline(0, Bytes(INT64_MAX), device).time, Duration(73'786'976'294'838'207));
  EXPECT_EQ(roofline(0, Bytes(INT64_MAX), device, 1).time, Duration::max());
}

// Points at 1, 10 and 100 flop/byte.
const EfficiencyCurve kCurve{EfficiencyCurve::Axis::kIntensity,
                             {{1'000, 100'000}, {10'000, 400'000}, {100'000, 310'000}}};

TEST(EfficiencyCurve, IsLinearBetweenPointsAndConstantBeyond) {
  EXPECT_EQ(kCurve.share_of(1, Bytes(4)), 100'000u);
  EXPECT_EQ(kCurve.share_of(1, Bytes(1)), 100'000u);
  EXPECT_EQ(kCurve.share_of(4, Bytes(1)), 200'000u);   // a third of the way up
  EXPECT_EQ(kCurve.share_of(11, Bytes(2)), 250'000u);  // at 5.5, half of it
  EXPECT_EQ(kCurve.share_of(40, Bytes(1)), 370'000u);  // a third of the way down
  EXPECT_EQ(kCurve.share_of(1'000, Bytes(1)), 310'000u);
  EXPECT_EQ(kCurve.share_of(1, Bytes(0)), 310'000u);
}

// From 400,000 down by 90,000 x 1/90 = 1,000 at 11; and by 1,333.3 at 11.333, rounded down.
TEST(EfficiencyCurve, RoundsDown) {
  EXPECT_EQ(kCurve.share_of(11, Bytes(1)), 399'000u);
  EXPECT_EQ(kCurve.share_of(34, Bytes(3)), 398'667u);
  EXPECT_EQ(kCurve.share_of(1, Bytes(3)), 100'000u);
  EXPECT_EQ(kCurve.share_of(4, Bytes(3)), 111'100u);  // at 1.333: 100,000 + 300,000 x 0.333 / 9
}

TEST(EfficiencyCurve, MayGoByOperationsOrBytes) {
  EfficiencyCurve curve{EfficiencyCurve::Axis::kWork, {{0, 200'000}, {1'000'000, 600'000}}};
  EXPECT_EQ(curve.share_of(500, Bytes(7)), 400'000u);
  curve.axis = EfficiencyCurve::Axis::kBytes;
  EXPECT_EQ(curve.share_of(7, Bytes(250)), 300'000u);
  curve.points.clear();
  EXPECT_EQ(curve.share_of(7, Bytes(250)), kWholeShare);
}

}  // namespace
}  // namespace rankwire
