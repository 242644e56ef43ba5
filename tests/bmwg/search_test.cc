#include "emulator/bmwg/search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rankwire {
namespace {

TEST(HighestShare, ComesWithinTheResolutionFromBelow) {
  for (const double truth : {0.01, 0.25, 0.5, 0.77, 0.999}) {
    int tries = 0;
    const double found = highest_share(
        [&](double share) {
          ++tries;
          return share <= truth;
        },
        0.001);
    EXPECT_LE(found, truth);
    EXPECT_GT(found, truth - 0.001);
    // 1 first, then log2(1000) halves.
    EXPECT_EQ(tries, 11);
  }
}

TEST(HighestShare, IsTheWholeLineOrNothing) {
  EXPECT_EQ(highest_share([](double) { return true; }, 0.1), 1);
  EXPECT_EQ(highest_share([](double) { return false; }, 0.1), 0);
}

TEST(LargestCount, FindsEveryCount) {
  for (uint64_t truth = 0; truth <= 100; ++truth) {
    for (const uint64_t most : {1, 7, 64, 100}) {
      const uint64_t found = largest_count([&](uint64_t count) { return count <= truth; }, most);
      EXPECT_EQ(found, std::min(truth, most)) << truth << " of at most " << most;
    }
  }
}

}  // namespace
}  // namespace rankwire
