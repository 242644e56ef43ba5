// The rate after CNPs against the published formulas, evaluated here in closed form or by a model that runs every
// microsecond.
#include "dataplane/congestion/dcqcn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"

namespace rankwire {
namespace {

constexpr double kGiga = 1e9;

Time at(double us) {
  return Time(std::llround(us * 1e6));
}

/// One queue pair on a line of `line` Gb/s.
struct Bench {
  Bench(const DcqcnOptions& options, int64_t line) : control(options, std::array{Bandwidth(line * 1'000'000'000)}) {}
  Bench(DcqcnPreset preset, int64_t line) : Bench(dcqcn_preset(preset, Bandwidth(line * 1'000'000'000)), line) {}

  void cnp(double us) { control.notified(0, at(us)); }
  void send(double us, int64_t bytes) { control.sent(0, at(us), Bytes(bytes)); }
  /// Gb/s.
  double rate(double us) { return static_cast<double>(control.allowance(0, at(us)).rate.bits_per_second) / kGiga; }

  Dcqcn control;
};

constexpr double kBit = 1e-9;  // rates are rounded to 1 bit/s

TEST(Dcqcn, SendsAtLineRateUntilTheFirstNotification) {
  for (const DcqcnPreset preset : {DcqcnPreset::kMlx5, DcqcnPreset::kPaper, DcqcnPreset::kHpcc}) {
    Bench bench(preset, 100);
    bench.send(0, 1 << 30);
    EXPECT_EQ(bench.rate(1e6), 100);
    EXPECT_EQ(bench.control.next_update(0), Time::never());
    EXPECT_EQ(bench.control.allowance(0, at(1e6)).window, Allowance::kUnlimited);
  }
}

// SIGCOMM 2015, equations 1 to 3 with alpha = 1: RT = 40, RC = 20. Fast recovery, while
// t < F = 5, goes half the way to 40 each time: RC_n = 40 - 20 / 2^n.
TEST(DcqcnPaper, CutAtOnceThenFastRecovery) {
  Bench bench(DcqcnPreset::kPaper, 40);
  bench.cnp(3);
  EXPECT_NEAR(bench.rate(3), 20, kBit);
  EXPECT_EQ(bench.control.next_update(0), at(3 + 55));
  for (int n = 0; n <= 4; ++n) {
    EXPECT_NEAR(bench.rate(3 + 55 * n), 40 - 20 / std::exp2(n), kBit) << n;
    EXPECT_NEAR(bench.rate(3 + 55 * n + 54.9), 40 - 20 / std::exp2(n), kBit) << n;
  }
}

// Two CNPs: RC = 10, RT = 20. From the fifth increase on RT_n = 20 + 0.04 (n - 4), and the distance RT - RC becomes
// e_n = (e_(n-1) + 0.04) / 2 with e_4 = 10 / 16, which is e_n = 0.04 + (0.625 - 0.04) / 2^(n-4).
TEST(DcqcnPaper, AdditiveIncrease) {
  Bench bench(DcqcnPreset::kPaper, 40);
  bench.cnp(0);
  bench.cnp(10);
  EXPECT_NEAR(bench.rate(10), 10, kBit);
  EXPECT_NEAR(bench.rate(10 + 55 * 4), 20 - 0.625, kBit);
  for (int n = 5; n <= 100; ++n) {
    const double target = 20 + 0.04 * (n - 4);
    EXPECT_NEAR(bench.rate(10 + 55 * n), target - 0.04 - 0.585 / std::exp2(n - 4), kBit) << n;
  }
}

// Bytes alone: the n-th 10 MB are an increase as the n-th period is.
TEST(DcqcnPaper, ByteCounterIncreases) {
  Bench bench(DcqcnPreset::kPaper, 40);
  bench.cnp(0);
  bench.cnp(1);
  bench.send(2, 9'999'999);
  EXPECT_NEAR(bench.rate(2), 10, kBit);
  bench.send(3, 1);
  EXPECT_NEAR(bench.rate(3), 15, kBit);
  bench.send(4, 30'000'000);
  EXPECT_NEAR(bench.rate(4), 20 - 0.625, kBit);
  // The fifth is additive: RT = 20.04.
  bench.send(5, 10'000'000);
  EXPECT_NEAR(bench.rate(5), (19.375 + 20.04) / 2, kBit);
}

TEST(DcqcnPaper, CutForgetsBytesCounted) {
  Bench bench(DcqcnPreset::kPaper, 40);
  bench.cnp(0);
  bench.send(1, 9'999'999);
  bench.cnp(2);
  bench.send(3, 1);
  EXPECT_NEAR(bench.rate(3), 10, kBit);
}

// Six increases by bytes, then six by time. The timer's first five find min(b, t) <= 5: additive. At its sixth i = 1.
TEST(DcqcnPaper, HyperIncreaseNeedsBothCounters) {
  Bench bench(DcqcnPreset::kPaper, 40);
  bench.cnp(0);
  bench.cnp(0);
  bench.send(1, 60'000'000);
  double target = 20 + 2 * 0.04, rate = 20 - 0.625;
  rate = (rate + 20.04) / 2;
  rate = (rate + 20.08) / 2;
  EXPECT_NEAR(bench.rate(1), rate, kBit);
  for (int t = 1; t <= 5; ++t) rate = (rate + (target += 0.04)) / 2;
  EXPECT_NEAR(bench.rate(55 * 5), rate, kBit);
  rate = (rate + (target += 0.2)) / 2;
  EXPECT_NEAR(bench.rate(55 * 6), rate, kBit);
  // b = t = 7: i = 2 with the timer's, and again with the bytes' eighth.
  bench.send(55 * 6, 10'000'000);
  rate = (rate + (target += 0.2)) / 2;  // b = 7, t = 6
  EXPECT_NEAR(bench.rate(55 * 6), rate, kBit);
  rate = (rate + (target += 0.4)) / 2;  // b = 7, t = 7
  EXPECT_NEAR(bench.rate(55 * 7), rate, kBit);
}

// Alpha decays by 255/256 every 55 us without CNP, and a CNP cuts with what it was before it is raised.
TEST(DcqcnPaper, AlphaDecaysAndIsRaised) {
  Bench bench(DcqcnPreset::kPaper, 40);
  bench.cnp(0);
  EXPECT_DOUBLE_EQ(bench.control.alpha(0), 1);
  const double before =
      40 - 20 / std::exp2(4);  // after 4 of 4 fast recoveries; further ones, towards 40, at 275 us ...
  EXPECT_NEAR(bench.rate(55 * 4 + 1), before, kBit);
  const double decayed = std::pow(255. / 256, 4);
  EXPECT_NEAR(bench.control.alpha(0), decayed, 1e-12);
  bench.cnp(55 * 4 + 1);
  EXPECT_NEAR(bench.rate(55 * 4 + 1), before * (1 - decayed / 2), kBit);
  EXPECT_NEAR(bench.control.alpha(0), decayed * 255 / 256 + 1. / 256, 1e-12);
  // Its clock has started anew.
  bench.rate(55 * 5 + 0.9);
  EXPECT_NEAR(bench.control.alpha(0), decayed * 255 / 256 + 1. / 256, 1e-12);
  bench.rate(55 * 5 + 1);
  EXPECT_NEAR(bench.control.alpha(0), (decayed * 255 / 256 + 1. / 256) * 255 / 256, 1e-12);
}

// 100 Gb/s: alpha has run at 1, 2, 3 and 4 us when the first cut comes. The target stays: nothing was raised before.
TEST(DcqcnHpcc, ClocksRunByThemselves) {
  Bench bench(DcqcnPreset::kHpcc, 100);
  const double keep = 255. / 256;
  bench.cnp(0);
  EXPECT_EQ(bench.rate(3.999), 100);
  EXPECT_EQ(bench.control.next_update(0), at(4));
  const double first = 100 * (1 - std::pow(keep, 4) / 2);
  EXPECT_NEAR(bench.rate(4), first, kBit);
  // The second CNP: alpha ran at 5 .. 10 without it, at 11 with it, at 12 without; the cut comes at 12.
  bench.cnp(10);
  bench.cnp(10.5);
  const double alpha = (std::pow(keep, 10) * keep + (1 - keep)) * keep;
  const double second = first * (1 - alpha / 2);
  EXPECT_NEAR(bench.rate(11.999), first, kBit);
  EXPECT_NEAR(bench.rate(12), second, kBit);
  EXPECT_NEAR(bench.control.alpha(0), alpha, 1e-12);
  // Without increase in between the target is still 100.
  EXPECT_NEAR(bench.rate(312), (second + 100) / 2, kBit);
}

// F = 1: one fast recovery, one additive increase by 100 G / 5000, then hyper increases by 100 G / 500.
TEST(DcqcnHpcc, StagesOfTheTimer) {
  Bench bench(DcqcnPreset::kHpcc, 100);
  bench.cnp(0);
  bench.rate(304);
  bench.cnp(305);  // the cut comes at 308 and takes the target along: it was raised at 304
  const double raised = (100 * (1 - std::pow(255. / 256, 4) / 2) + 100) / 2;
  double rate = bench.rate(308), target = raised;
  EXPECT_LT(rate, raised);
  rate = (rate + target) / 2;
  EXPECT_NEAR(bench.rate(608), rate, kBit);
  rate = (rate + (target += 0.02)) / 2;
  EXPECT_NEAR(bench.rate(908), rate, kBit);
  for (int n = 3; n < 30; ++n) {
    rate = (rate + (target += 0.2)) / 2;
    EXPECT_NEAR(bench.rate(308 + 300 * n), rate, 2 * kBit) << n;
  }
}

TEST(Dcqcn, ClampedTargetFollowsEveryCut) {
  DcqcnOptions options = dcqcn_preset(DcqcnPreset::kHpcc, Bandwidth(100'000'000'000));
  options.clamp_tgt_rate = true;
  Bench bench(options, 100);
  bench.cnp(0);
  const double first = bench.rate(4);
  bench.cnp(5);
  const double second = bench.rate(8);
  EXPECT_NEAR(bench.rate(308), (second + first) / 2, kBit);
}

// With clamp_tgt_rate_ati off only what the byte counter raised counts.
TEST(Dcqcn, TimerAloneDoesNotClampWithoutAti) {
  DcqcnOptions options;
  options.clamp_tgt_rate_ati = false;
  for (const bool bytes : {false, true}) {
    Bench bench(options, 100);
    bench.cnp(0);
    bench.rate(304);
    if (bytes) bench.send(305, options.byte_reset.count);
    const double before = bench.rate(305);
    bench.cnp(305);
    const double after = bench.rate(308);
    // Threshold 1: the first increase is additive, 5 Mb/s.
    const double target = std::min((bytes ? before : 100) + 0.005, 100.);
    EXPECT_NEAR(bench.rate(608), (after + target) / 2, kBit) << bytes;
  }
}

// gd = 10: a cut takes alpha of the rate, all of it; min_dec_fac leaves 50 % at each, then min_rate.
TEST(Dcqcn, CutsAreBounded) {
  DcqcnOptions options;
  options.gd = 10;
  options.initial_alpha_value = 1024;
  options.dce_tcp_g = 1024;  // g = 0: alpha stays 1
  options.min_rate = Bandwidth(10'000'000'000);
  Bench bench(options, 100);
  bench.cnp(0);
  EXPECT_NEAR(bench.rate(4), 50, kBit);
  bench.cnp(5);
  EXPECT_NEAR(bench.rate(8), 25, kBit);
  bench.cnp(9);
  EXPECT_NEAR(bench.rate(12), 12.5, kBit);
  bench.cnp(13);
  EXPECT_NEAR(bench.rate(16), 10, kBit);
  // gd = 12: a quarter at most.
  options.gd = 12;
  Bench mild(options, 100);
  mild.cnp(0);
  EXPECT_NEAR(mild.rate(4), 75, kBit);
}

TEST(Dcqcn, FirstNotificationSetsTheRate) {
  DcqcnOptions options;
  options.rate_to_set_on_first_cnp = Bandwidth(30'000'000'000);
  Bench bench(options, 100);
  bench.cnp(0);
  EXPECT_NEAR(bench.rate(0), 30, kBit);
  // The factory's alpha is 1023/1024, g 5/1024.
  const double alpha = 1023. / 1024 * std::pow(1019. / 1024, 4);
  const double cut = 30 * (1 - alpha / 2);
  EXPECT_NEAR(bench.rate(4), cut, kBit);
  // Threshold 1: no fast recovery, 30.005 is the target.
  EXPECT_NEAR(bench.rate(304), (cut + 30.005) / 2, kBit);
  // Not again.
  bench.cnp(310);
  EXPECT_NEAR(bench.rate(310), (cut + 30.005) / 2, kBit);
}

TEST(Dcqcn, MostIsTheSmallerOfMaximumAndLine) {
  DcqcnOptions options;
  options.max_rate = Bandwidth(40'000'000'000);
  EXPECT_EQ(Bench(options, 100).rate(0), 40);
  EXPECT_EQ(Bench(options, 25).rate(0), 25);
}

// Full rate is reached, and then no clock changes anything.
TEST(Dcqcn, RecoversToLineRate) {
  Bench bench(DcqcnPreset::kHpcc, 100);
  bench.cnp(0);
  bench.rate(4);
  // The distance halves: 50 Gb/s are less than 1 bit/s after 36 times.
  EXPECT_LT(bench.rate(4 + 300 * 35), 100);
  EXPECT_EQ(bench.rate(4 + 300 * 36), 100);
  EXPECT_EQ(bench.control.next_update(0), Time::never());
  EXPECT_EQ(bench.rate(1e9), 100);
  // Of alpha nothing is left: it ran with the CNP at the first of four microseconds.
  bench.cnp(1e9);
  EXPECT_EQ(bench.control.next_update(0), at(1e9 + 4));
  EXPECT_NEAR(bench.rate(1e9 + 4), 100 * (1 - std::pow(255. / 256, 3) / 256 / 2), kBit);
}

/// HPCC's simulator (rdma-hw.cc) with a step of 1 us: the oracle for the preset of its name.
struct StepModel {
  double rate = 100e9, target = 100e9, alpha = 1;
  bool begun = false, alpha_mark = false, cut_mark = false;
  int64_t first = 0, timer = -1;
  int stage = 0;

  void cnp(int64_t now) {
    if (begun) alpha_mark = true;
    cut_mark = true;
    if (!begun) first = now;
    begun = true;
  }
  void step(int64_t now) {
    if (!begun || now == first) return;
    alpha = alpha * 255 / 256 + (alpha_mark ? 1. / 256 : 0);
    alpha_mark = false;
    if ((now - first) % 4 == 0 && cut_mark) {
      if (stage > 0) target = rate;
      rate = std::max(1e9, rate * (1 - alpha / 2));
      stage = 0;
      cut_mark = false;
      timer = now + 300;
    }
    if (now != timer) return;
    timer += 300;
    target = std::min(100e9, target + (stage == 0 ? 0 : stage == 1 ? 20e6 : 200e6));
    rate = (rate + target) / 2;
    ++stage;
  }
};

// Seeded CNPs, in bursts and far apart; one control is looked at every microsecond, the other rarely.
TEST(DcqcnHpcc, AgreesWithTheStepModelHoweverRarelyItIsLookedAt) {
  Bench often(DcqcnPreset::kHpcc, 100), seldom(DcqcnPreset::kHpcc, 100);
  StepModel model;
  Random random(11);
  int64_t pause = 0;
  for (int64_t now = 0; now < 200'000; ++now) {
    model.step(now);
    if (now % 5'000 == 0) pause = static_cast<int64_t>(random.below(4'000));
    if (now % 5'000 > pause && random.below(20) == 0) {
      const auto us = static_cast<double>(now);
      model.cnp(now);
      often.cnp(us);
      seldom.cnp(us);
    }
    ASSERT_NEAR(often.rate(static_cast<double>(now)), model.rate / kGiga, 1e-6) << now;
    if (now % 7'777 == 0) {
      ASSERT_NEAR(seldom.rate(static_cast<double>(now)), model.rate / kGiga, 1e-6) << now;
    }
  }
  EXPECT_LT(model.rate, 50e9);
}

TEST(Dcqcn, PresetsAreThePublishedOnes) {
  const DcqcnOptions mlx5 = dcqcn_preset(DcqcnPreset::kMlx5, Bandwidth(400'000'000'000));
  EXPECT_EQ(mlx5, DcqcnOptions());
  EXPECT_EQ(mlx5.byte_reset, Bytes(2'097'088));
  const DcqcnOptions hpcc = dcqcn_preset(DcqcnPreset::kHpcc, Bandwidth(25'000'000'000));
  EXPECT_EQ(hpcc.ai_rate, Bandwidth(5'000'000));
  EXPECT_EQ(hpcc.hai_rate, Bandwidth(50'000'000));
  EXPECT_EQ(hpcc.min_rate, Bandwidth(1'000'000'000));
  const DcqcnOptions paper = dcqcn_preset(DcqcnPreset::kPaper, Bandwidth(40'000'000'000));
  EXPECT_EQ(paper.rate_reduce_monitor_period, Duration());
  EXPECT_EQ(paper.threshold, 5u);
  // run.py, at --bw 25: t_alpha, t_dec, t_inc; ai = 5 * bw / 25, hai = 50 * bw / 25; has_win.
  DcqcnOptions expected = hpcc;
  expected.dce_tcp_rtt = expected.rate_reduce_monitor_period = microseconds(50);
  expected.time_reset = microseconds(55);
  EXPECT_EQ(dcqcn_preset(DcqcnPreset::kHpccPaper, Bandwidth(25'000'000'000)), expected);
  expected.window = microseconds(13);
  EXPECT_EQ(dcqcn_preset(DcqcnPreset::kHpccPaperWindow, Bandwidth(25'000'000'000)), expected);
  expected = hpcc;
  expected.window = microseconds(13);
  EXPECT_EQ(dcqcn_preset(DcqcnPreset::kHpccWindow, Bandwidth(25'000'000'000)), expected);
}

// 100 Gb/s in 13 us: 162,500 B. The first cut, at 4 us, is that of alpha 1 less what four periods without a CNP took
// away: alpha = (1020/1024)^4, and what is left of the window is what is left of the rate.
TEST(DcqcnHpcc, TheWindowFollowsTheRate) {
  const std::array lines = {Bandwidth(100'000'000'000)};
  Dcqcn control(dcqcn_preset(DcqcnPreset::kHpccWindow, lines[0]), lines);
  EXPECT_EQ(control.allowance(0, Time()).window, Bytes(162'500));
  control.notified(0, Time());
  EXPECT_EQ(control.allowance(0, Time() + microseconds(3)).window, Bytes(162'500));
  const Allowance cut = control.allowance(0, Time() + microseconds(4));
  const double left = 1 - std::pow(1020.0 / 1024, 4) / 2;
  EXPECT_NEAR(static_cast<double>(cut.window.count), 162'500 * left, 1);
  EXPECT_NEAR(static_cast<double>(cut.rate.bits_per_second), 100e9 * left, 1);
  DcqcnOptions unbound = dcqcn_preset(DcqcnPreset::kHpcc, lines[0]);
  EXPECT_EQ(Dcqcn(unbound, lines).allowance(0, Time()).window, Allowance::kUnlimited);
}

}  // namespace
}  // namespace rankwire
