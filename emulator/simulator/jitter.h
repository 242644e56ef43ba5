// Random variation of how long computations take, the same on every machine and in every order of evaluation.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rankwire {

enum class JitterDistribution : uint8_t { kNone, kNormal, kLognormal, kUniform, kGamma };

/// Interruptions by something else, such as an operating system.
struct Noise {
  Duration period;    ///< of computing, from one to the next; > 0
  Duration duration;  ///< of each; >= 0
};

/// A time multiplied by a random factor of mean 1, and lengthened by interruptions. What is random follows from a key
/// alone, so equal keys give equal times whoever asks first.
///
/// Factors are drawn in doubles with operations that IEEE 754 rounds correctly (+, -, *, /, sqrt; log and exp are made
/// of these) without contraction, and then are integers of 2^-32. Normal: Marsaglia's polar method (SIAM Review 6(3),
/// 1964); below 0 it counts as 0, which raises the mean above a deviation of about 40 %. Lognormal: exp of one. Gamma:
/// Marsaglia and Tsang, ACM TOMS 26(3), 2000.
class Jitter {
 public:
  /// `deviation_ppm`: standard deviation of the factor in parts per million, up to 10^6; of kUniform up to 577,350
  /// (1 / sqrt 3), where factors reach 0.
  Jitter(JitterDistribution distribution, uint32_t deviation_ppm, std::optional<Noise> noise);

  struct Varied {
    Duration jittered;     ///< times the factor, rounded up to whole picoseconds
    Duration interrupted;  ///< beside it
  };
  /// An interval of `jittered` with a random beginning is met by the noise floor or ceil of (jittered / period) times,
  /// on average exactly jittered / period. Nothing allocates.
  Varied vary(Duration takes, uint64_t key) const noexcept;

 private:
  double factor(uint64_t key) const noexcept;

  JitterDistribution distribution_;
  double deviation_;
  double log_mean_ = 0, log_deviation_ = 0;  ///< kLognormal
  std::optional<Noise> noise_;
};

/// Natural logarithm of a positive finite number and exponential, of operations that are correctly rounded; both are
/// within some units in the last place.
double portable_log(double x) noexcept;
double portable_exp(double x) noexcept;

}  // namespace rankwire
