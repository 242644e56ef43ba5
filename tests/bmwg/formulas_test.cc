#include "emulator/bmwg/formulas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rankwire {
namespace {

using Values = std::vector<double>;

// Of n links of which k carry the same and the others nothing: (k x)^2 / (n k x^2) = k / n, and the most loaded carries
// n / k times the mean.
TEST(Formulas, JainAndMaxToMeanOfLinksOfWhichSomeAreIdle) {
  for (const int n : {1, 2, 5, 16}) {
    for (int k = 1; k <= n; ++k) {
      Values loads(static_cast<size_t>(n), 0.0);
      for (int i = 0; i < k; ++i) loads[static_cast<size_t>(i)] = 7;
      EXPECT_DOUBLE_EQ(jain_index(loads), static_cast<double>(k) / n);
      EXPECT_DOUBLE_EQ(max_to_mean_ratio(loads), static_cast<double>(n) / k);
    }
  }
  // (1 + 2 + 3)^2 / (3 x 14).
  EXPECT_DOUBLE_EQ(jain_index(Values{1, 2, 3}), 36.0 / 42);
  EXPECT_DOUBLE_EQ(max_to_mean_ratio(Values{1, 2, 3}), 1.5);
}

TEST(Formulas, NothingIsSaidOfNothing) {
  EXPECT_TRUE(std::isnan(jain_index(Values{})));
  EXPECT_TRUE(std::isnan(jain_index(Values{0, 0})));
  EXPECT_TRUE(std::isnan(max_to_mean_ratio(Values{})));
  EXPECT_TRUE(std::isnan(median_of(Values{})));
  EXPECT_TRUE(std::isnan(coefficient_of_variation(Values{1})));
  EXPECT_TRUE(std::isnan(coefficient_of_variation(Values{-1, 1})));
}

// Of 2, 4, 6 the mean is 4 and the sample's variance (4 + 0 + 4) / 2.
TEST(Formulas, VariationIsOfTheSample) {
  EXPECT_DOUBLE_EQ(coefficient_of_variation(Values{2, 4, 6}), 0.5);
  EXPECT_DOUBLE_EQ(coefficient_of_variation(Values{3, 3, 3}), 0);
  // 3 x 0.1 is 0.30000000000000004, a third of which is not 0.1.
  EXPECT_EQ(coefficient_of_variation(Values{0.1, 0.1, 0.1}), 0);
  EXPECT_DOUBLE_EQ(mean_of(Values{2, 4, 9}), 5);
  EXPECT_DOUBLE_EQ(median_of(Values{9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median_of(Values{9, 1, 5, 6}), 5.5);
}

// 1 GB by 8 accelerators (factor 2 x 7 / 8) at 400 Gbit/s is 35 ms of communication.
TEST(Formulas, RooflineIsComputeAndLineTime) {
  EXPECT_NEAR(roofline_seconds(1000, 0.010, 1e9, 1.75, 400e9), 45, 1e-9);
}

}  // namespace
}  // namespace rankwire
