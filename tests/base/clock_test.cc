#include "base/clock.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(RealClock, DilationMakesItSlower) {
  RealClock before, dilated(8), after;
  before.start(), dilated.start(), after.start();
  for (int i = 0; i < 1000; ++i) {
    // What began first says most, and is asked first where it bounds from below.
    const Time low = after.now(), now = dilated.now(), high = before.now();
    // Nanoseconds are counted whole, and an eighth of one is 125 ps.
    EXPECT_GE(8 * now.ps, low.ps - 1000);
    EXPECT_LE(8 * now.ps, high.ps + 1000);
  }
}

}  // namespace
}  // namespace rankwire
