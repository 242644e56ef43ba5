#include "emulator/report/time_shares.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(TimeShares, TheLargestFirst) {
  TimeByCause causes;
  EXPECT_EQ(shares_text(causes), "-");
  causes[Cause::kTransmitting] = nanoseconds(3'000);
  causes[Cause::kWindow] = nanoseconds(6'250);
  causes[Cause::kPaused] = nanoseconds(746);
  causes[Cause::kRecovering] = nanoseconds(4);  // 0.04 %
  EXPECT_EQ(shares_text(causes), "window full 62.5 %, transmitting 30.0 %, paused 7.5 %");
}

}  // namespace
}  // namespace rankwire
