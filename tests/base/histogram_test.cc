#include "base/histogram.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankwire {
namespace {

TEST(Histogram, SmallValuesAreExact) {
  Histogram h;
  for (int64_t v = 1; v <= 20; ++v) h.add(Duration(v));
  EXPECT_EQ(h.count(), 20u);
  EXPECT_EQ(h.quantile(0.5), Duration(10));
  EXPECT_EQ(h.quantile(0.95), Duration(19));
  EXPECT_EQ(h.quantile(1.0), Duration(20));
}

TEST(Histogram, QuantilesAreAtMostOneThirtySecondAbove) {
  Histogram h;
  constexpr int64_t kCount = 100'000;
  for (int64_t i = 1; i <= kCount; ++i) h.add(Duration(i * 1'000'003));
  for (double q : {0.01, 0.5, 0.95, 0.99, 0.999}) {
    const int64_t exact = static_cast<int64_t>(q * kCount + 0.5) * 1'000'003;
    EXPECT_GE(h.quantile(q).ps, exact);
    EXPECT_LE(h.quantile(q).ps, exact + exact / 32);
  }
  EXPECT_EQ(h.max(), Duration(kCount * 1'000'003));
}

TEST(Histogram, HoldsTheExtremes) {
  Histogram h;
  EXPECT_EQ(h.quantile(0.5), Duration(0));
  h.add(Duration(-5));  // clocks of two hosts may disagree: counted as 0
  h.add(Duration::max());
  EXPECT_EQ(h.quantile(0.5), Duration(0));
  EXPECT_EQ(h.quantile(1.0), Duration::max());
}

// 1 + 2 + 6 = 9 over 3; 1 + 2 over 2 is 1.5, rounded up.
TEST(Histogram, MeanAndExtremesAreExact) {
  Histogram h;
  EXPECT_EQ(h.min(), Duration(0));
  EXPECT_EQ(h.mean(), Duration(0));
  h.add(Duration(2));
  h.add(Duration(1));
  EXPECT_EQ(h.mean(), Duration(2));
  h.add(Duration(6));
  EXPECT_EQ(h.mean(), Duration(3));
  EXPECT_EQ(h.min(), Duration(1));
  EXPECT_EQ(h.max(), Duration(6));
}

// The sum of two values of 2^63 - 1 does not fit into 64 bits with a sign.
TEST(Histogram, MeanOfTheLargestValuesDoesNotOverflow) {
  Histogram h;
  h.add(Duration::max());
  h.add(Duration::max());
  h.add(Duration::max());
  EXPECT_EQ(h.mean(), Duration::max());
}

// 64 .. 127 is cut into 32 parts of 2, 2^20 .. 2^21 - 1 into 32 parts of 2^15.
TEST(Histogram, BucketsHaveDocumentedBounds) {
  Histogram h;
  for (const int64_t v : {3, 3, 64, 65, 66, (1 << 20) + (1 << 15)}) h.add(Duration(v));
  std::vector<Histogram::Bucket> buckets;
  h.for_each_bucket([&](const Histogram::Bucket& b) { buckets.push_back(b); });
  EXPECT_EQ(buckets, (std::vector<Histogram::Bucket>{
                         {Duration(3), Duration(3), 2},
                         {Duration(64), Duration(65), 2},
                         {Duration(66), Duration(67), 1},
                         {Duration((1 << 20) + (1 << 15)), Duration((1 << 20) + 2 * (1 << 15) - 1), 1}}));
}

TEST(Histogram, BucketsLeaveNoGapsUpToTheLargestValue) {
  Histogram h;
  for (int exponent = 0; exponent < 63; ++exponent) {
    for (int64_t part = 0; part < 32; ++part) {
      h.add(Duration((int64_t{1} << exponent) + (exponent < 5 ? 0 : part << (exponent - 5))));
    }
  }
  h.add(Duration::max());
  // 0 is the only bucket between 0 and 2^0; below 32 only the powers of two were added.
  Duration next(32);
  h.for_each_bucket([&](const Histogram::Bucket& b) {
    if (b.low < Duration(32)) return;
    EXPECT_EQ(b.low, next);
    if (b.high < Duration::max()) next = b.high + Duration(1);
  });
  EXPECT_EQ(next.ps, Duration::max().ps - (int64_t{1} << 57) + 1) << "the last bucket is 2^57 wide";
}

TEST(Histogram, MergedIsAsIfAllHadBeenAddedToOne) {
  Histogram a, b, all, empty;
  for (int64_t i = 1; i <= 1000; ++i) {
    const Duration value(i * i * 977);
    (i % 3 == 0 ? a : b).add(value);
    all.add(value);
  }
  a.merge(b);
  a.merge(empty);
  EXPECT_EQ(a.count(), 1000u);
  EXPECT_EQ(a.min(), all.min());
  EXPECT_EQ(a.mean(), all.mean());
  EXPECT_EQ(a.max(), all.max());
  for (const double q : {0.001, 0.5, 0.9, 0.99, 1.0}) EXPECT_EQ(a.quantile(q), all.quantile(q)) << q;
}

}  // namespace
}  // namespace rankwire
