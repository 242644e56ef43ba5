#include "base/size_distribution.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rankwire {
namespace {

constexpr uint64_t kWhole = SizeDistribution::kWhole;

TEST(SizeDistribution, AFixedSizeIsAlwaysTheSame) {
  const SizeDistribution sizes(Bytes(4'096));
  EXPECT_EQ(sizes.quantile(0), Bytes(4'096));
  EXPECT_EQ(sizes.quantile(kWhole - 1), Bytes(4'096));
  EXPECT_EQ(sizes.mean(), Bytes(4'096));
  EXPECT_EQ(sizes.largest(), Bytes(4'096));
}

TEST(SizeDistribution, QuantilesLieOnTheLinesBetweenPoints) {
  // A quarter of all are 1000 bytes, half are spread from there to 3000, and a quarter from 3000 to 11000.
  const SizeDistribution sizes({{Bytes(1'000), kWhole / 4}, {Bytes(3'000), kWhole * 3 / 4}, {Bytes(11'000), kWhole}});
  EXPECT_EQ(sizes.quantile(0), Bytes(1'000));
  EXPECT_EQ(sizes.quantile(kWhole / 4 - 1), Bytes(1'000));
  EXPECT_EQ(sizes.quantile(kWhole / 4), Bytes(1'000));
  EXPECT_EQ(sizes.quantile(kWhole / 2), Bytes(2'000));
  EXPECT_EQ(sizes.quantile(kWhole * 3 / 4), Bytes(3'000));
  EXPECT_EQ(sizes.quantile(kWhole * 7 / 8), Bytes(7'000));
  // 10^-9 of all is 8000 bytes / (10^9 / 4), less than a byte.
  EXPECT_EQ(sizes.quantile(kWhole - 1), Bytes(10'999));
  // 1000 / 4 + 2000 / 2 + 7000 / 4
  EXPECT_EQ(sizes.mean(), Bytes(3'000));
}

TEST(SizeDistribution, AMessageHasAByte) {
  const SizeDistribution sizes({{Bytes(0), 0}, {Bytes(10), kWhole}});
  EXPECT_EQ(sizes.quantile(0), Bytes(1));
  EXPECT_EQ(sizes.quantile(kWhole / 2), Bytes(5));
}

TEST(SizeDistribution, PublishedOnesHaveTheMeansOfTheirPoints) {
  // The sum of each step's part times the middle of its sizes, in percent and kilobytes:
  // 15*5 + 5*15 + 10*25 + 10*40 + 13*65 + 7*140 + 10*600 + 10*1500 + 10*3500 + 7*7500 + 3*20000 = 171125
  const SizeDistribution search(*published_sizes("web_search"));
  EXPECT_EQ(search.mean(), Bytes(1'711'250));
  EXPECT_EQ(search.largest(), Bytes(30'000'000));
  EXPECT_EQ(search.quantile(kWhole * 53 / 100), Bytes(80'000));
  // 22.93*2 + 46.28*6 + 11.4*12 + 9.86*24 + 3.06*48 + 3.24*96 + 0.76*192 + 2.47*1128 = 4086.98
  const SizeDistribution storage(*published_sizes("storage"));
  EXPECT_EQ(storage.mean(), Bytes(40'870));
  EXPECT_EQ(storage.largest(), Bytes(2'000'000));
  EXPECT_FALSE(published_sizes("storages"));
}

TEST(SizeDistribution, SamplesHaveItsMean) {
  // Uniform in 0 .. 12000: a deviation of 12000 / sqrt 12 = 3464, of the mean of 10,000 samples 34.64; five of those.
  const SizeDistribution sizes({{Bytes(0), 0}, {Bytes(12'000), kWhole}});
  Random random(7);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) sum += static_cast<double>(sizes.sample(random).count);
  EXPECT_NEAR(sum / 10'000, 6'000, 173.2);
}

TEST(Random, ExponentialsHaveMeanAndMedianOfOne) {
  // A deviation of 1, of the mean of 100,000 samples 1 / 316. Half are below log 2, with a deviation of 1 / 632.
  constexpr int kSamples = 100'000;
  Random random(3);
  double sum = 0;
  int below = 0, above_three = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double value = static_cast<double>(random.exponential()) * 0x1p-32;
    sum += value;
    below += value < std::log(2.0);
    above_three += value > 3;
  }
  EXPECT_NEAR(sum / kSamples, 1, 5.0 / 316);
  EXPECT_NEAR(below / double{kSamples}, 0.5, 5.0 / 632);
  // exp(-3) = 0.0498 of all, with a deviation of sqrt(0.0498 * 0.9502 / 100000) = 0.00069.
  EXPECT_NEAR(above_three / double{kSamples}, std::exp(-3.0), 5 * 0.00069);
}

}  // namespace
}  // namespace rankwire
