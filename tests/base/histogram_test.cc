#include "base/histogram.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rankwire
