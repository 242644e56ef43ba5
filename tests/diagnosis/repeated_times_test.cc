#include "emulator/diagnosis/repeated_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

namespace rankwire {
namespace {

std::vector<Duration> times(std::initializer_list<int64_t> micros) {
  std::vector<Duration> list;
  for (const int64_t n : micros) list.push_back(microseconds(n));
  return list;
}

// With one degree of freedom it is Cauchy's distribution: t = tan(pi (p - 1/2)). With two, t = (2p - 1) / sqrt(2p (1 -
// p)).
TEST(StudentT, HasTheClosedFormsOfOneAndTwoDegrees) {
  for (const double p : {0.6, 0.9, 0.975, 0.995}) {
    const double cauchy = std::tan(std::numbers::pi * (p - 0.5));
    EXPECT_NEAR(student_t_quantile(p, 1), cauchy, 1e-8 * cauchy) << p;
    const double two = (2 * p - 1) / std::sqrt(2 * p * (1 - p));
    EXPECT_NEAR(student_t_quantile(p, 2), two, 1e-8 * two) << p;
  }
  EXPECT_EQ(student_t_quantile(0.5, 7), 0);
}

// The column for 0.975 of any printed table of the distribution.
TEST(StudentT, HasThePublishedQuantiles) {
  const std::pair<uint32_t, double> published[] = {{3, 3.182},  {4, 2.776},  {5, 2.571},  {9, 2.262},
                                                   {10, 2.228}, {19, 2.093}, {29, 2.045}, {30, 2.042},
                                                   {60, 2.000}, {99, 1.984}, {120, 1.980}};
  for (const auto& [degrees, t] : published) EXPECT_NEAR(student_t_quantile(0.975, degrees), t, 0.0005) << degrees;
}

// 10, 12, 14, 16, 18: mean 14, deviation sqrt((16 + 4 + 0 + 4 + 16) / 4) = sqrt(10) = 3.1623. The interval is 14 +-
// 2.776445 x sqrt(10 / 5) = 14 +- 3.926486.
TEST(TimeSpread, IsThatOfTheSampleWithStudentsInterval) {
  const auto spread = spread_of(times({18, 10, 12, 16, 14}));
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->mean, microseconds(14));
  EXPECT_EQ(spread->median, microseconds(14));
  EXPECT_EQ(spread->shortest, microseconds(10));
  EXPECT_EQ(spread->longest, microseconds(18));
  EXPECT_NEAR(static_cast<double>(spread->deviation.ps), std::sqrt(10.0) * 1e6, 1);
  EXPECT_DOUBLE_EQ(spread->variation, std::sqrt(10.0) / 14);
  EXPECT_NEAR(static_cast<double>(spread->low.ps), 10.073514e6, 1);
  EXPECT_NEAR(static_cast<double>(spread->high.ps), 17.926486e6, 1);
}

TEST(TimeSpread, TakesTwoTimes) {
  EXPECT_FALSE(spread_of({}));
  EXPECT_FALSE(spread_of(times({5})));
  const auto equal = spread_of(times({5, 5}));
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->variation, 0);
  EXPECT_EQ(equal->low, microseconds(5));
  EXPECT_EQ(spread_of(times({5, 8}))->median, nanoseconds(6500));
}

// Mann and Whitney (1947), table I: P(U <= u) for samples of five and five, u = 0, 1, ... 12.
TEST(RankDistribution, IsTheTableOfMannAndWhitney) {
  const double published[] = {.004, .008, .016, .028, .048, .075, .111, .155, .210, .274, .345, .421, .500};
  const std::vector<double> chances = rank_distribution(5, 5);
  ASSERT_EQ(chances.size(), 26u);
  double below = 0;
  for (size_t u = 0; u < std::size(published); ++u) {
    below += chances[u];
    EXPECT_NEAR(below, published[u], 0.0005) << u;
  }
}

// One time among m others has each of the m + 1 places alike, and of n + m times in any order one of (n + m over n)
// choices has the first sample in front.
TEST(RankDistribution, HasClosedForms) {
  for (const double chance : rank_distribution(1, 9)) EXPECT_DOUBLE_EQ(chance, 0.1);
  EXPECT_NEAR(rank_distribution(3, 4).front(), 1.0 / 35, 1e-15);
  EXPECT_NEAR(rank_distribution(10, 5).front(), 1.0 / 3003, 1e-15);
  const std::vector<double> many = rank_distribution(49, 49);
  EXPECT_NEAR(std::accumulate(many.begin(), many.end(), 0.0), 1, 1e-12);
  EXPECT_NEAR(many[7], many[many.size() - 8], 1e-9 * many[7]) << "symmetric";
}

// Hollander and Wolfe (1973), p. 69: permeability of membranes. R's documentation of wilcox.test has W = 35 and p =
// 0.1272 on one side; both sides are twice that, and of the 50 pairs 15 are the other way round.
TEST(RankTest, IsExactForAPublishedExample) {
  const std::vector<Duration> term = times({80, 83, 189, 104, 145, 138, 191, 164, 73, 146}),
                              early = times({115, 88, 90, 74, 121});
  const RankTest test = rank_test(term, early);
  EXPECT_TRUE(test.is_exact);
  EXPECT_EQ(test.u, 15);
  EXPECT_NEAR(test.p, 2 * 0.1272, 0.0002);
  EXPECT_NEAR(test.least_p, 2.0 / 3003, 1e-12);
  EXPECT_EQ(rank_test(early, term).u, 35);
  EXPECT_DOUBLE_EQ(rank_test(early, term).p, test.p);
}

// The critical value of U for 5 % on both sides is 8 for ten and five: the ninth difference from either end. Sorted the
// differences begin -117, -115, -103, -101, -101, -99, -90, -76, -76 and end 15, 17, 17, 32, 35, 38, 41, 42, 48, and
// -31 and -30 are in the middle.
TEST(TimeShift, IsTheMedianOfDifferencesWithTheirInterval) {
  const std::vector<Duration> term = times({80, 83, 189, 104, 145, 138, 191, 164, 73, 146}),
                              early = times({115, 88, 90, 74, 121});
  const TimeShift shift = shift_of(term, early);
  EXPECT_EQ(shift.estimate, nanoseconds(-30'500));
  ASSERT_TRUE(shift.has_interval);
  EXPECT_EQ(shift.low, microseconds(-76));
  EXPECT_EQ(shift.high, microseconds(15));
}

// Of 0, 10, .. 40 and the same 105 later the differences are 65, 75 twice, 85 three times, .. 145; the critical value
// for five and five is 2.
TEST(TimeShift, HasIntervalsOnlyWithEnoughTimes) {
  const TimeShift shift = shift_of(times({0, 10, 20, 30, 40}), times({105, 115, 125, 135, 145}));
  EXPECT_EQ(shift.estimate, microseconds(105));
  ASSERT_TRUE(shift.has_interval);
  EXPECT_EQ(shift.low, microseconds(75));
  EXPECT_EQ(shift.high, microseconds(135));
  // 2 / 20 and 2 / 70.
  EXPECT_FALSE(shift_of(times({1, 2, 3}), times({4, 5, 6})).has_interval);
  EXPECT_NEAR(rank_test(times({1, 2, 3}), times({4, 5, 6})).p, 0.1, 1e-12);
  EXPECT_NEAR(rank_test(times({1, 2, 3, 4}), times({5, 6, 7, 8})).p, 2.0 / 70, 1e-12);
  const TimeShift four = shift_of(times({1, 2, 3, 4}), times({5, 6, 7, 8}));
  ASSERT_TRUE(four.has_interval) << "P(U = 0) is 0.0143, below 0.025";
  EXPECT_EQ(four.low, microseconds(1));
  EXPECT_EQ(four.high, microseconds(7));
}

// 1, 1, 2 and 2, 3, 3: of the nine pairs eight go to the second and one is even: U = 8.5, 4 from its mean. The variance
// is 9/12 (7 - 3 x 6 / 30) = 4.8, so that z = (4 - 1/2) / sqrt(4.8) = 1.5975, beyond which are 11.02 % of a normal
// distribution.
TEST(RankTest, CorrectsTheNormalApproximationForTies) {
  const RankTest test = rank_test(times({1, 1, 2}), times({2, 3, 3}));
  EXPECT_FALSE(test.is_exact);
  EXPECT_EQ(test.u, 8.5);
  EXPECT_NEAR(test.p, std::erfc(3.5 / std::sqrt(2 * 4.8)), 1e-12);
  EXPECT_NEAR(test.p, 0.1102, 0.0001);
  EXPECT_EQ(rank_test(times({4, 4}), times({4, 4})).p, 1);
}

// 60 times and the same later by half a step: the mean of U is 1800 and its deviation sqrt(60 x 60 x 121 / 12) =
// 190.53; the second is longer in 60 x 61 / 2 = 1830 pairs.
TEST(RankTest, ApproximatesManyTimes) {
  std::vector<Duration> first, second;
  for (int i = 0; i < 60; ++i) first.push_back(microseconds(i)), second.push_back(microseconds(i) + nanoseconds(500));
  const RankTest test = rank_test(first, second);
  EXPECT_FALSE(test.is_exact);
  EXPECT_EQ(test.u, 1830);
  EXPECT_NEAR(test.p, std::erfc(29.5 / 190.526 / std::numbers::sqrt2), 1e-5);
  const TimeShift shift = shift_of(first, second);
  EXPECT_EQ(shift.estimate, nanoseconds(500));
  EXPECT_LT(shift.low, Duration(0));
  EXPECT_GT(shift.high, microseconds(1));
}

}  // namespace
}  // namespace rankwire
