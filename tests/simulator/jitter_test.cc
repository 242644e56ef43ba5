#include "emulator/simulator/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rankwire {
namespace {

constexpr JitterDistribution kAll[] = {JitterDistribution::kNormal, JitterDistribution::kLognormal,
                                       JitterDistribution::kUniform, JitterDistribution::kGamma};
constexpr uint32_t kDeviation = 200'000;

/// Of 1 ms with the keys 1, 2, 3.
std::vector<int64_t> jittered(JitterDistribution distribution) {
  const Jitter jitter(distribution, kDeviation, std::nullopt);
  std::vector<int64_t> times;
  for (uint64_t key : {1, 2, 3}) times.push_back(jitter.vary(milliseconds(1), key).jittered.ps);
  return times;
}

// From a program in another language with that language's log and exp: splitmix64 from the key, 53 bits and a half for
// a uniform number, the polar method, Marsaglia and Tsang. Rounding to 2^-32 takes up to 0.24 ps off a millisecond.
TEST(Jitter, IsTheSameEverywhere) {
  const std::vector<int64_t> expected[] = {{1'085'890'442, 1'109'442'934, 867'858'117},
                                           {1'067'627'934, 1'092'819'704, 860'313'258},
                                           {1'046'115'213, 1'063'178'102, 732'190'542},
                                           {1'074'465'265, 1'099'418'996, 861'143'144}};
  for (size_t d = 0; d < std::size(kAll); ++d) {
    const std::vector<int64_t> times = jittered(kAll[d]);
    for (size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[d][i], 1) << d << " " << i;
  }
}

// Of n = 20,000 draws with deviation s = 0.2: the mean deviates by s / sqrt n, the variance by s^2 sqrt((k - 1) / n),
// where the kurtosis k is 3.67 of the lognormal, 3.24 of the gamma, 3 and 1.8 of the others. Five of each are allowed.
TEST(Jitter, HasTheMomentsOfItsDistribution) {
  constexpr int kDraws = 20'000;
  const double s = kDeviation / 1e6;
  for (const JitterDistribution distribution : kAll) {
    const Jitter jitter(distribution, kDeviation, std::nullopt);
    double sum = 0, squares = 0;
    for (int key = 0; key < kDraws; ++key) {
      const double deviation = static_cast<double>(jitter.vary(seconds(1), key).jittered.ps) / 1e12 - 1;
      sum += deviation, squares += deviation * deviation;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, 0, 5 * s / std::sqrt(kDraws));
    EXPECT_NEAR(variance, s * s, 5 * s * s * std::sqrt(2.7 / kDraws));
  }
}

// The skewness of a gamma is 2 s = 0.4, of a lognormal (v + 3 s^2 ...) = s^3 + 3 s = 0.608, of the symmetric ones 0. It
// deviates by about sqrt(6 / n) = 0.017 for a normal; five times twice that are allowed.
TEST(Jitter, HasTheSkewnessOfItsDistribution) {
  constexpr int kDraws = 20'000;
  const double s = kDeviation / 1e6, expected[] = {0, s * s * s + 3 * s, 0, 2 * s};
  for (size_t d = 0; d < std::size(kAll); ++d) {
    const Jitter jitter(kAll[d], kDeviation, std::nullopt);
    double cubes = 0;
    for (int key = 0; key < kDraws; ++key) {
      const double deviation = static_cast<double>(jitter.vary(seconds(1), key).jittered.ps) / 1e12 - 1;
      cubes += deviation * deviation * deviation;
    }
    EXPECT_NEAR(cubes / kDraws / (s * s * s), expected[d], 0.17) << d;
  }
}

// 1 - sqrt(3) / 5 = 0.654 to 1.346.
TEST(Jitter, KeepsUniformFactorsWithinTheirEnds) {
  const Jitter jitter(JitterDistribution::kUniform, kDeviation, std::nullopt);
  Duration least = Duration::max(), most;
  for (uint64_t key = 0; key < 10'000; ++key) {
    const Duration time = jitter.vary(milliseconds(1), key).jittered;
    least = std::min(least, time), most = std::max(most, time);
  }
  EXPECT_GE(least, Duration(653'589'838));
  EXPECT_LE(most, Duration(1'346'410'162));
  // The ends are missed by more than 0.1 % of the width of 0.693 with probability 0.999^10000 = 5e-5 each.
  EXPECT_LT(least, Duration(654'300'000));
  EXPECT_GT(most, Duration(1'345'700'000));
}

TEST(Jitter, NeverTurnsTimeBack) {
  const Jitter jitter(JitterDistribution::kNormal, 1'000'000, std::nullopt);
  int zero = 0;
  for (uint64_t key = 0; key < 1'000; ++key) {
    const Duration time = jitter.vary(milliseconds(1), key).jittered;
    EXPECT_GE(time, Duration(0));
    zero += time == Duration(0);
  }
  // A standard normal is below -1 with probability 0.1587; 1,000 draws deviate by 11.6.
  EXPECT_NEAR(zero, 158.7, 5 * 11.6);
}

TEST(Jitter, SaturatesAndLeavesAloneWhatHasNone) {
  const Jitter none(JitterDistribution::kNone, kDeviation, std::nullopt);
  const Jitter still(JitterDistribution::kGamma, 0, std::nullopt);
  const Jitter wide(JitterDistribution::kUniform, 500'000, Noise{Duration(1), seconds(1)});
  bool saturated = false;
  for (uint64_t key = 0; key < 20; ++key) {
    EXPECT_EQ(none.vary(microseconds(7), key).jittered, microseconds(7));
    EXPECT_EQ(still.vary(microseconds(7), key).jittered, microseconds(7));
    const Jitter::Varied time = wide.vary(Duration::max(), key);
    saturated |= time.jittered == Duration::max();
    EXPECT_EQ(time.interrupted, Duration::max());
  }
  EXPECT_TRUE(saturated);
}

// 10.3 us with interruptions every microsecond: 10 or 11 of them, 11 in three of ten; by the same program as above 11
// for these keys.
TEST(Noise, InterruptsAsOftenAsItsPeriodSays) {
  const Jitter jitter(JitterDistribution::kNone, 0, Noise{microseconds(1), nanoseconds(50)});
  const Duration takes = nanoseconds(10'300);
  for (uint64_t key : {1, 2, 3}) EXPECT_EQ(jitter.vary(takes, key).interrupted, nanoseconds(550));
  int more = 0;
  for (uint64_t key = 0; key < 10'000; ++key) {
    const Jitter::Varied time = jitter.vary(takes, key);
    EXPECT_EQ(time.jittered, takes);
    if (time.interrupted != nanoseconds(500)) {
      EXPECT_EQ(time.interrupted, nanoseconds(550));
      ++more;
    }
  }
  EXPECT_NEAR(more, 3'000, 5 * 46);  // sqrt(10,000 x 0.3 x 0.7) = 46
}

TEST(Noise, LeavesTheFactorsAsTheyAre) {
  const Jitter quiet(JitterDistribution::kGamma, kDeviation, std::nullopt);
  const Jitter noisy(JitterDistribution::kGamma, kDeviation, Noise{microseconds(1), nanoseconds(50)});
  for (uint64_t key = 0; key < 100; ++key)
    EXPECT_EQ(quiet.vary(milliseconds(1), key).jittered, noisy.vary(milliseconds(1), key).jittered);
}

// The library's functions are the oracle; its last place may be off, too.
TEST(PortableFunctions, AgreeWithTheLibrary) {
  for (double x = 1e-12; x < 1e12; x *= 1.37)
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * (1 + std::abs(std::log(x))));
  for (double x = -30; x < 30; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 3e-14) << x;
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-1e6), 0);
}

}  // namespace
}  // namespace rankwire
