#include "emulator/simulator/jitter.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace rankwire {
namespace {

constexpr double kLn2 = 0.693147180559945309417232;
constexpr double kSqrt3 = 1.732050807568877293527446;

/// Uniform in (0, 1): 53 bits, never an end.
double uniform(Random& random) noexcept {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

double standard_normal(Random& random) noexcept {
  while (true) {
    const double u = 2 * uniform(random) - 1, v = 2 * uniform(random) - 1;
    const double s = u * u + v * v;
    if (s < 1 && s > 0) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

/// Of a shape of 1 or more and mean 1.
double gamma_of_mean_one(Random& random, double shape) noexcept {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = standard_normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (portable_log(uniform(random)) < 0.5 * x * x + d - d * v + d * portable_log(v)) return d * v / shape;
  }
}

}  // namespace

double portable_log(double x) noexcept {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh z; |z| < 0.172, so 13 terms are exact to the last place.
  const double z = (mantissa - 1) / (mantissa + 1), square = z * z;
  double sum = 0;
  for (int n = 25; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return 2 * z * sum + exponent * kLn2;
}

double portable_exp(double x) noexcept {
  if (x < -700) return 0;
  const double k = std::floor(x / kLn2 + 0.5);
  const double r = x - k * kLn2;
  // |r| < 0.347: 18 terms of the series.
  double sum = 1;
  for (int n = 18; n >= 1; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

Jitter::Jitter(JitterDistribution distribution, uint32_t deviation_ppm, std::optional<Noise> noise)
    : distribution_(deviation_ppm == 0 ? JitterDistribution::kNone : distribution),
      deviation_(deviation_ppm / 1e6),
      noise_(noise) {
  if (distribution_ != JitterDistribution::kLognormal) return;
  // Mean exp(m + s^2 / 2) = 1, variance exp(s^2) - 1.
  const double variance = portable_log(1 + deviation_ * deviation_);
  log_deviation_ = std::sqrt(variance);
  log_mean_ = -variance / 2;
}

double Jitter::factor(uint64_t key) const noexcept {
  Random random(key);
  switch (distribution_) {
    case JitterDistribution::kNone:
      break;
    case JitterDistribution::kNormal:
      return 1 + deviation_ * standard_normal(random);
    case JitterDistribution::kLognormal:
      return portable_exp(log_mean_ + log_deviation_ * standard_normal(random));
    case JitterDistribution::kUniform:
      return 1 + deviation_ * kSqrt3 * (2 * uniform(random) - 1);
    case JitterDistribution::kGamma:
      return gamma_of_mean_one(random, 1 / (deviation_ * deviation_));
  }
  return 1;
}

Jitter::Varied Jitter::vary(Duration takes, uint64_t key) const noexcept {
  Varied time{takes, Duration()};
  const auto saturated = [](unsigned __int128 ps) {
    constexpr auto kMost = static_cast<uint64_t>(Duration::max().ps);
    return Duration(static_cast<int64_t>(ps < kMost ? static_cast<uint64_t>(ps) : kMost));
  };
  if (distribution_ != JitterDistribution::kNone) {
    constexpr double kMostFactor = 0x1p30;
    const auto parts = static_cast<uint64_t>(std::clamp(factor(key), 0.0, kMostFactor) * 0x1p32);
    const unsigned __int128 product = static_cast<unsigned __int128>(takes.ps) * parts;
    time.jittered = saturated((product + UINT32_MAX) >> 32);
  }
  if (noise_) {
    // A stream of its own, so that switching the noise on does not change the factors.
    const auto period = static_cast<uint64_t>(noise_->period.ps);
    const uint64_t phase = Random(~key).below(period);
    const uint64_t times = (static_cast<uint64_t>(time.jittered.ps) + phase) / period;
    time.interrupted = saturated(static_cast<unsigned __int128>(times) * static_cast<uint64_t>(noise_->duration.ps));
  }
  return time;
}

}  // namespace rankwire
