// What can be said of times that were measured several times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// Quantile of Student's t distribution: the t that a value is below with probability `p`, 0.5 <= p < 1; `degrees` of
/// freedom > 0. Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1 with 26.5.8; to 1e-9 of its value.
double student_t_quantile(double p, uint32_t degrees);

/// Of times that were measured under the same conditions.
struct TimeSpread {
  Duration mean, median, shortest, longest;
  Duration deviation;  ///< standard deviation of the sample, n - 1 in the denominator
  double variation;    ///< deviation / mean; 0 where the mean is
  Duration low, high;  ///< 95 % confidence interval of the mean: mean +- t(0.975, n - 1) x deviation / sqrt(n)
};
/// Of two times or more; absent of fewer. The median of an even number is halfway between the two in the middle.
std::optional<TimeSpread> spread_of(std::span<const Duration> times);

/// Wilcoxon's rank sum test in the form of Mann and Whitney ("On a test of whether one of two random variables is
/// stochastically larger than the other", Annals of Mathematical Statistics 18, 1947), two-sided.
struct RankTest {
  double u = 0;           ///< pairs in which the second sample's time is longer; ties count one half
  double p = 1;           ///< chance of a U as far from its mean, or further, if both samples are of one distribution
  bool is_exact = false;  ///< counted over all orders; else by the normal approximation, with ties and continuity
  double least_p = 1;     ///< what p can be at the least with so many times
};
/// Both have one time at least. Exact where there are no ties and both have fewer than 50 times, as in R's wilcox.test.
RankTest rank_test(std::span<const Duration> first, std::span<const Duration> second);

/// How much longer the second sample's times are than the first's: the median of all differences of pairs, and the 95 %
/// interval that belongs to the rank test (Hodges and Lehmann, and Moses: Hollander and Wolfe, Nonparametric
/// Statistical Methods, 4.2 and 4.3). Where both distributions have one shape, it is the difference of their medians.
struct TimeShift {
  Duration estimate;
  bool has_interval = false;  ///< there is none with few times, such as three and three
  Duration low, high;
};
TimeShift shift_of(std::span<const Duration> first, std::span<const Duration> second);

/// Chances of U = 0, 1, ... n x m for samples of n and m times without ties from one distribution. n, m > 0.
std::vector<double> rank_distribution(uint32_t n, uint32_t m);

}  // namespace rankwire
