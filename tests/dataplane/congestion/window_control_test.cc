#include "dataplane/congestion/window_control.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rankwire {
namespace {

constexpr Bandwidth kWindowLine{100'000'000'000};
constexpr WindowLimits kLimits{.packet = Bytes(1000), .largest = Bytes(64'000)};
constexpr Duration kNoSample = Duration::max();

template <class Control>
int64_t window(Control& control) {
  return control.allowance(0, Time()).window.count;
}

template <class Control>
void acknowledge(Control& control, int64_t bytes) {
  control.acknowledged(0, Time(), Bytes(bytes), kNoSample);
}

TEST(Dctcp, BeginsWithTheLargestWindowAtLineRate) {
  Dctcp control({}, kLimits, std::array{kWindowLine});
  EXPECT_EQ(control.allowance(0, Time()), (Allowance{.rate = kWindowLine, .window = Bytes(64'000)}));
  acknowledge(control, 64'000);
  EXPECT_EQ(window(control), 64'000);
}

// alpha = 15/16 + 1/16 F. A round of 64 packets, 16 of them marked: F = 1/4.
TEST(Dctcp, CutsByTheShareOfMarksOnceARound) {
  Dctcp control({}, kLimits, std::array{kWindowLine});
  for (int i = 0; i < 16; ++i) control.notified(0, Time());
  acknowledge(control, 63'000);
  EXPECT_EQ(window(control), 64'000);
  acknowledge(control, 1'000);
  double alpha = 15. / 16 + 1. / 16 / 4;
  double expected = 64'000 * (1 - alpha / 2);
  EXPECT_EQ(window(control), static_cast<int64_t>(expected));
  // The next round is as long as the window; a single mark in it.
  control.notified(0, Time());
  acknowledge(control, static_cast<int64_t>(expected) + 1);
  alpha = alpha * 15 / 16 + 1. / 16 * 1000 / (std::floor(expected) + 1);
  expected *= 1 - alpha / 2;
  EXPECT_EQ(window(control), static_cast<int64_t>(expected));
  // Without marks it grows by a packet a round, and alpha decays by 15/16.
  for (int round = 0; round < 3; ++round, expected += 1000) {
    EXPECT_EQ(window(control), static_cast<int64_t>(expected)) << round;
    acknowledge(control, static_cast<int64_t>(expected) + 1);
    alpha *= 15. / 16;
  }
  for (int i = 0; i < 100; ++i) control.notified(0, Time());
  acknowledge(control, 64'000);
  alpha = alpha * 15 / 16 + 1. / 16;  // all were marked, not more
  expected *= 1 - alpha / 2;
  EXPECT_EQ(window(control), static_cast<int64_t>(expected));
}

TEST(Dctcp, IsNeverLessThanOnePacket) {
  Dctcp control({.gain = {1, 1}}, kLimits, std::array{kWindowLine});
  for (int i = 0; i < 20; ++i) {
    for (int mark = 0; mark < 64; ++mark) control.notified(0, Time());
    acknowledge(control, 64'000);
  }
  EXPECT_EQ(window(control), 1000);
}

TEST(Dctcp, LossHalvesTheWindow) {
  Dctcp control({}, kLimits, std::array{kWindowLine});
  control.rewound(0, Time());
  EXPECT_EQ(window(control), 32'000);
}

SwiftOptions swift_options() {
  SwiftOptions options;
  options.base_target = microseconds(20);
  options.fs_range = Duration();
  return options;
}

void sample(Swift& control, int64_t now_us, int64_t bytes, int64_t delay_us) {
  control.acknowledged(0, Time() + microseconds(now_us), Bytes(bytes), microseconds(delay_us));
}

// max(1 - 0.8 (25 - 20) / 25, 0.5) = 0.84; at 100 us 1 - 0.8 x 0.8 = 0.36 is less than a half.
TEST(Swift, DecreasesByTheExcessOnceARoundTrip) {
  Swift control(swift_options(), kLimits, std::array{kWindowLine});
  sample(control, 100, 1000, 25);
  EXPECT_EQ(window(control), 53'760);
  sample(control, 124, 1000, 25);
  EXPECT_EQ(window(control), 53'760);
  sample(control, 125, 1000, 25);
  EXPECT_EQ(window(control), static_cast<int64_t>(53'760 * 0.84));
  sample(control, 224, 1000, 100);
  EXPECT_EQ(window(control), static_cast<int64_t>(53'760 * 0.84));
  sample(control, 225, 1000, 100);
  EXPECT_EQ(window(control), static_cast<int64_t>(53'760 * 0.84 / 2));
}

// Acknowledged packets over the window: 10 acknowledged without and 5 with a sample, at W = 26.88, are 15 / 26.88.
TEST(Swift, IncreasesByAPacketARoundTrip) {
  Swift control(swift_options(), kLimits, std::array{kWindowLine});
  sample(control, 100, 0, 25);
  sample(control, 200, 0, 100);
  ASSERT_EQ(window(control), 26'880);
  acknowledge(control, 10'000);
  EXPECT_EQ(window(control), 26'880);
  sample(control, 300, 5'000, 19);
  EXPECT_EQ(window(control), static_cast<int64_t>(1000 * (26.88 + 15 / 26.88)));
}

// Seven halvings of 64 packets are half a packet: one every two round trips of 100 us.
TEST(Swift, BelowOnePacketIsARate) {
  Swift control(swift_options(), kLimits, std::array{kWindowLine});
  for (int i = 1; i <= 7; ++i) sample(control, 1000 * i, 0, 100);
  const Allowance allowance = control.allowance(0, Time());
  EXPECT_EQ(allowance.window, Bytes(1000));
  EXPECT_EQ(allowance.rate, Bandwidth(8'000 * int64_t{1'000'000} / 200));
  // From there on acknowledged packets count whole.
  sample(control, 8000, 1'000, 10);
  EXPECT_EQ(window(control), 1'500);
}

TEST(Swift, LossTakesAwayTheMost) {
  Swift control(swift_options(), kLimits, std::array{kWindowLine});
  sample(control, 10, 0, 10);
  control.rewound(0, Time() + microseconds(100));
  EXPECT_EQ(window(control), 32'000);
  control.rewound(0, Time() + microseconds(109));
  EXPECT_EQ(window(control), 32'000);
  control.rewound(0, Time() + microseconds(110));
  EXPECT_EQ(window(control), 16'000);
}

// 100 us at W = 0.1 and less, 0 at W = 100 and more; at W = 1: 100 (1 - 0.1) / (sqrt(10) - 0.1).
TEST(Swift, TargetGrowsForSmallWindows) {
  Swift control({}, kLimits, std::array{kWindowLine});
  EXPECT_EQ(control.target(0.05), microseconds(120));
  EXPECT_EQ(control.target(0.1), microseconds(120));
  EXPECT_NEAR(static_cast<double>(control.target(1).ps), 20e6 + 100e6 * 0.9 / (std::sqrt(10) - 0.1), 1);
  EXPECT_EQ(control.target(100), microseconds(20));
  EXPECT_EQ(control.target(400), microseconds(20));
}

TEST(Swift, DoesNotHeedNotifications) {
  Swift control({}, kLimits, std::array{kWindowLine});
  control.notified(0, Time());
  EXPECT_EQ(window(control), 64'000);
  EXPECT_FALSE(control.heeds_notifications(0));
}

}  // namespace
}  // namespace rankwire
