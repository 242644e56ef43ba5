#include "emulator/diagnosis/repeated_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

namespace rankwire {
namespace {

constexpr double kTail = 0.025;  // on either side of a 95 % interval
constexpr size_t kExact = 50;    // times of a sample from which on the normal approximation serves

Duration nearest_picosecond(double ps) {
  return Duration(std::llround(ps));
}

/// Continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto no_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / no_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int i = 1; i < 10'000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / no_zero(1 + even * d), c = no_zero(1 + even / c), fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / no_zero(1 + odd * d), c = no_zero(1 + odd / c), fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

/// Regularised: I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on one side only.
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// The chance that Student's t is above `t`, >= 0.
double student_t_above(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
}

Duration median_of_sorted(std::span<const Duration> times) {
  const Duration low = times[(times.size() - 1) / 2], high = times[times.size() / 2];
  return low + Duration((high - low).ps / 2);
}

/// All differences of pairs, shortest first.
std::vector<Duration> differences(std::span<const Duration> first, std::span<const Duration> second) {
  std::vector<Duration> all;
  all.reserve(first.size() * second.size());
  for (const Duration a : first)
    for (const Duration b : second) all.push_back(b - a);
  std::ranges::sort(all);
  return all;
}

/// The sum of t^3 - t over the sizes t of groups of equal times.
double tie_sum(std::span<const Duration> first, std::span<const Duration> second) {
  std::map<int64_t, double> sizes;
  for (const Duration time : first) ++sizes[time.ps];
  for (const Duration time : second) ++sizes[time.ps];
  double sum = 0;
  for (const auto& [time, size] : sizes) sum += size * size * size - size;
  return sum;
}

/// Chance of a value as far from the mean of a normal distribution as `z` deviations, or further.
double two_tails(double z) {
  return std::erfc(z / std::numbers::sqrt2);
}

}  // namespace

double student_t_quantile(double p, uint32_t degrees) {
  const double above = 1 - p;
  if (above >= 0.5) return 0;
  double low = 0, high = 1;
  while (student_t_above(high, degrees) > above) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_above(middle, degrees) > above ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<TimeSpread> spread_of(std::span<const Duration> times) {
  if (times.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(times.size());
  double sum = 0, squares = 0;
  for (const Duration time : times) sum += static_cast<double>(time.ps);
  const double mean = sum / n;
  for (const Duration time : times)
    squares += (static_cast<double>(time.ps) - mean) * (static_cast<double>(time.ps) - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  const double half = student_t_quantile(1 - kTail, static_cast<uint32_t>(times.size() - 1)) * deviation / std::sqrt(n);
  std::vector<Duration> sorted(times.begin(), times.end());
  std::ranges::sort(sorted);
  return TimeSpread{.mean = nearest_picosecond(mean),
                    .median = median_of_sorted(sorted),
                    .shortest = sorted.front(),
                    .longest = sorted.back(),
                    .deviation = nearest_picosecond(deviation),
                    .variation = mean > 0 ? deviation / mean : 0,
                    .low = nearest_picosecond(std::max(0.0, mean - half)),
                    .high = nearest_picosecond(mean + half)};
}

// The largest of all times is one of the n with chance n / (n + m), and is then longer than all m of the others.
std::vector<double> rank_distribution(uint32_t n, uint32_t m) {
  std::vector<std::vector<double>> of_n(m + 1, {1.0});  // by number of the others; of 0 times at first
  for (uint32_t i = 1; i <= n; ++i) {
    for (uint32_t j = 1; j <= m; ++j) {
      const double chance = static_cast<double>(i) / (i + j);
      const std::vector<double> without = std::move(of_n[j]);  // one of the n less
      const std::vector<double>& fewer = of_n[j - 1];          // one of the others less
      std::vector<double>& chances = of_n[j];
      chances.assign(size_t{i} * j + 1, 0);
      for (size_t u = 0; u < without.size(); ++u) chances[u + j] += chance * without[u];
      for (size_t u = 0; u < fewer.size(); ++u) chances[u] += (1 - chance) * fewer[u];
    }
  }
  return of_n[m];
}

RankTest rank_test(std::span<const Duration> first, std::span<const Duration> second) {
  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  RankTest test;
  for (const Duration a : first)
    for (const Duration b : second) test.u += b > a ? 1 : b == a ? 0.5 : 0;
  const double ties = tie_sum(first, second);
  const double mean = n * m / 2, away = std::abs(test.u - mean);
  const double variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  const auto normal = [&](double distance) {
    return variance > 0 ? two_tails(std::max(0.0, distance - 0.5) / std::sqrt(variance)) : 1.0;
  };
  test.is_exact = ties == 0 && first.size() < kExact && second.size() < kExact;
  if (!test.is_exact) {
    test.p = normal(away);
    test.least_p = normal(mean);
    return test;
  }
  const std::vector<double> chances =
      rank_distribution(static_cast<uint32_t>(first.size()), static_cast<uint32_t>(second.size()));
  const auto tail = static_cast<std::ptrdiff_t>(std::min(test.u, n * m - test.u));
  test.p = std::min(1.0, 2 * std::accumulate(chances.begin(), chances.begin() + tail + 1, 0.0));
  test.least_p = std::min(1.0, 2 * chances.front());
  return test;
}

TimeShift shift_of(std::span<const Duration> first, std::span<const Duration> second) {
  const std::vector<Duration> sorted = differences(first, second);
  TimeShift shift{.estimate = median_of_sorted(sorted), .low = {}, .high = {}};
  // As many differences as are left out on either side.
  size_t outside = 0;
  if (first.size() < kExact && second.size() < kExact) {
    const std::vector<double> chances =
        rank_distribution(static_cast<uint32_t>(first.size()), static_cast<uint32_t>(second.size()));
    for (double below = 0; outside < chances.size() && (below += chances[outside]) <= kTail;) ++outside;
  } else {
    constexpr double kZ = 1.959963984540054;  // of a chance of 0.025 above it
    const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
    outside = static_cast<size_t>(std::max(0.0, n * m / 2 - kZ * std::sqrt(n * m * (n + m + 1) / 12)));
  }
  shift.has_interval = outside > 0;
  if (!shift.has_interval) return shift;
  shift.low = sorted[outside - 1];
  shift.high = sorted[sorted.size() - outside];
  return shift;
}

}  // namespace rankwire
