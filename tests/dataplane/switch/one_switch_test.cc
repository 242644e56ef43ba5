// One switch of a fabric: buffer, marking, scheduling, flow control.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "base/error.h"
#include "tests/dataplane/switch/fabric_bench.h"

namespace rankwire {
namespace {

using testing::FabricBench;
using testing::Got;
using testing::Sent;

constexpr Line k10G{Bandwidth(10'000'000'000), nanoseconds(100)};
// A frame of 1000 B occupies 1024 B of a line: 819.2 ns at 10 Gb/s.
constexpr int64_t kFrameTime = 819'200;
constexpr uint8_t kDscp3 = 24;  // DSCP >> 3 is priority 3
constexpr PrioritySet kPriority3 = priority_bit(3);

Topology star_of(uint32_t hosts, Line line = k10G) {
  return star(std::vector<Line>(hosts, line));
}

/// n queues that are overloaded take x = alpha (B - n x) each, x = alpha B / (1 + n alpha) (Choudhury and Hahne).
class DynamicThreshold : public ::testing::TestWithParam<std::tuple<uint32_t, int>> {};

TEST_P(DynamicThreshold, SharesTheBufferByTheClosedForm) {
  const auto [queues, exponent] = GetParam();
  FabricSwitchOptions device;
  device.buffer.shared = Bytes(600'000);
  device.buffer.egress.exponent = static_cast<int8_t>(exponent);
  // Three senders for each receiver: hosts q, then 3 a queue.
  FabricBench bench(star_of(4 * queues), {device}, {}, 40'000);
  for (int i = 0; i < 700; ++i) {
    for (uint32_t q = 0; q < queues; ++q) {
      for (uint32_t s = 0; s < 3; ++s) bench.send({.from = queues + 3 * q + s, .to = q}, Time(i * kFrameTime));
    }
  }
  bench.run();
  const double alpha = std::ldexp(1.0, exponent);
  const double expected = alpha * 600'000 / (1 + queues * alpha);
  for (uint32_t q = 0; q < queues; ++q) {
    // A queue takes whole frames, and one in every other queue moves the threshold by alpha frames.
    EXPECT_NEAR(static_cast<double>(bench.host_port(q).peak_queue.count), expected, 1000 * (1 + alpha * queues)) << q;
    EXPECT_GT(bench.host_port(q).dropped(FabricDrop::kTail), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(QueuesAndAlpha, DynamicThreshold,
                         ::testing::Values(std::tuple(1, 0), std::tuple(2, 0), std::tuple(4, 0), std::tuple(2, 1),
                                           std::tuple(3, -1), std::tuple(1, -3)));

/// The receiver pauses the line, so the i-th frame finds i x 1000 bytes in front of it. (The 0th leaves the queue only
/// with the others, as the pause is there first.)
TEST(FabricSwitch, MarksAlongTheRamp) {
  constexpr int kTrials = 300, kFrames = 100;
  FabricSwitchOptions device;
  device.red = RedOptions{.minimum = Bytes(20'000), .maximum = Bytes(80'000), .most_ppm = 400'000};
  std::array<int, kFrames> marks{};
  FabricOptions options;
  options.seed = 100;
  FabricBench bench(star_of(2), {device}, options, 256);
  for (int trial = 0; trial < kTrials; ++trial) {
    // A pause of 65535 x 512 bits, 3.36 ms, and 100 frames of 0.82 us: 4 ms are enough for a trial.
    const Time start = Time() + microseconds(4000 * trial);
    bench.send_pause(1, {.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities, .quanta = {kMaxQuanta}},
                     start);
    for (int i = 0; i < kFrames; ++i) bench.send({.from = 0, .to = 1}, start + microseconds(1));
    bench.run(start + microseconds(4000));
    const std::vector<Got> got = bench.received(1);
    ASSERT_EQ(got.size(), static_cast<size_t>(kFrames));
    for (int i = 0; i < kFrames; ++i) marks[i] += got[i].ecn == 3;
  }
  for (int i = 0; i <= 20; ++i) EXPECT_EQ(marks[i], 0) << i;
  for (int i = 81; i < kFrames; ++i) EXPECT_EQ(marks[i], kTrials) << i;
  // Ten lengths at a time: the sum of their binomials within 3 sigma.
  for (int from = 21; from <= 71; from += 10) {
    double expected = 0, variance = 0, seen = 0;
    for (int i = from; i < from + 10; ++i) {
      const double p = 0.4 * (i - 20) / 60;
      expected += kTrials * p, variance += kTrials * p * (1 - p), seen += marks[i];
    }
    EXPECT_NEAR(seen, expected, 3 * std::sqrt(variance)) << from;
  }
}

TEST(FabricSwitch, DequeueMarkingLooksAtWhatIsLeftBehind) {
  FabricSwitchOptions device;
  device.red = RedOptions{.minimum = Bytes(5'000), .maximum = Bytes(5'000), .at = MarkAt::kDequeue};
  FabricBench bench(star_of(2), {device}, {}, 256);
  bench.send_pause(1, {.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities, .quanta = {1000}}, Time());
  for (int i = 0; i < 10; ++i) bench.send({.from = 0, .to = 1}, Time(1'000'000));
  bench.run();
  // The i-th of 10 leaves 9 - i behind: more than 5 for the first 4.
  const std::vector<Got> got = bench.received(1);
  ASSERT_EQ(got.size(), 10u);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].ecn, i < 4 ? 3 : 2) << i;
}

TEST(FabricSwitch, RedDropsWhatCannotBeMarkedInLossyPrioritiesAlone) {
  FabricSwitchOptions device;
  device.red = RedOptions{.minimum = Bytes(0), .maximum = Bytes(0), .not_capable = NotCapable::kDrop};
  device.classes.lossless = kPriority3;
  FabricBench bench(star_of(2), {device}, {}, 256);
  bench.send_pause(1, {.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities, .quanta = {1000}}, Time());
  for (int i = 0; i < 5; ++i) bench.send({.from = 0, .to = 1, .ecn = 0}, Time(1'000'000));
  for (int i = 0; i < 5; ++i) bench.send({.from = 0, .to = 1, .dscp = kDscp3, .ecn = 0}, Time(1'000'000));
  bench.run();
  EXPECT_EQ(bench.drops(FabricDrop::kEarly), 4u);
  EXPECT_EQ(bench.received(1).size(), 6u);
}

TEST(FabricSwitch, StrictPriorityGoesFirst) {
  FabricSwitchOptions device;
  device.scheduler.strict = priority_bit(6);
  FabricBench bench(star_of(2), {device}, {}, 512);
  bench.send_pause(1, {.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities, .quanta = {2000}}, Time());
  for (int i = 0; i < 20; ++i) bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time(1'000'000));
  for (int i = 0; i < 20; ++i) bench.send({.from = 0, .to = 1, .dscp = 48}, Time(1'000'000));
  bench.run();
  const std::vector<Got> got = bench.received(1);
  ASSERT_EQ(got.size(), 40u);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].dscp, i < 20 ? 48 : kDscp3) << i;
}

TEST(FabricSwitch, WeightsShareTheLine) {
  FabricSwitchOptions device;
  device.scheduler.weights = {1, 3, 1, 1, 1, 1, 1, 1};
  FabricBench bench(star_of(2), {device}, {}, 2048);
  bench.send_pause(1, {.kind = PauseFrame::Kind::kGlobal, .priorities = kAllPriorities, .quanta = {60000}}, Time());
  for (int i = 0; i < 800; ++i) {
    bench.send({.from = 0, .to = 1, .dscp = 0, .ecn = 0}, Time(1'000'000));
    bench.send({.from = 0, .to = 1, .dscp = 8, .ecn = 0}, Time(1'000'000));
  }
  bench.run();
  const std::vector<Got> got = bench.received(1);
  ASSERT_EQ(got.size(), 1600u);
  // While both wait, of each 4 quanta 3 are the second's; a round is 4 x 16384 bytes, some 65 frames.
  int second = 0;
  for (size_t i = 0; i < 800; ++i) second += got[i].dscp == 8;
  EXPECT_NEAR(second, 600, 33);
}

TEST(FabricSwitch, TheTagMayDecideThePriority) {
  FabricSwitchOptions device;
  device.classes.trust = PriorityTrust::kPcp;
  device.scheduler.strict = priority_bit(7);
  FabricBench bench(star_of(2), {device}, {}, 64);
  // Untagged: priority 0, whatever the DSCP says, so the order stays.
  bench.send({.from = 0, .to = 1}, Time());
  bench.send({.from = 0, .to = 1}, Time());
  bench.send({.from = 0, .to = 1, .dscp = 56}, Time());
  bench.run();
  EXPECT_EQ(bench.received(1).back().dscp, 56);
}

TEST(FabricSwitch, OnlyThePausedPriorityStopsUntilItsQuantaAreOver) {
  FabricSwitchOptions device;
  device.latency = microseconds(1);
  device.classes.lossless = kPriority3;
  FabricBench bench(star_of(2), {device}, {}, 64);
  constexpr uint16_t kQuanta = 1000;
  bench.send_pause(1, priority_pause(kPriority3 | priority_bit(0), kQuanta), Time());
  bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time(2'000'000));
  bench.send({.from = 0, .to = 1, .dscp = 0}, Time(2'000'000));
  bench.run();
  const std::vector<Got> got = bench.received(1);
  ASSERT_EQ(got.size(), 2u);
  // Priority 0 is lossy and heeds no PFC: link 100 ns, two frames in, switch 1 us, one frame out, link 100 ns.
  EXPECT_EQ(got[0].dscp, 0);
  EXPECT_EQ(got[0].arrival.ps, 2'000'000 + 100'000 + 2 * kFrameTime + 1'000'000 + kFrameTime + 100'000);
  // The pause takes effect at 100 ns + 67.2 ns (84 B) + 1 us, and 1000 quanta are 51.2 us.
  EXPECT_EQ(got[1].dscp, kDscp3);
  EXPECT_EQ(got[1].arrival.ps, 100'000 + 67'200 + 1'000'000 + 51'200'000 + kFrameTime + 100'000);
  EXPECT_EQ(bench.host_port(1).paused[3].ps, 51'200'000);
}

TEST(FabricSwitch, XonEndsAPauseEarly) {
  FabricSwitchOptions device;
  device.classes.lossless = kPriority3;
  FabricBench bench(star_of(2), {device}, {}, 64);
  bench.send_pause(1, priority_pause(kPriority3, kMaxQuanta), Time());
  bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time());
  bench.send_pause(1, priority_pause(kPriority3, 0), Time(10'000'000));
  bench.run();
  const std::vector<Got> got = bench.received(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].arrival.ps, 10'000'000 + 100'000 + 67'200 + kFrameTime + 100'000);
}

/// A host that is told to stop, and does not: XOFF goes out when the group's share is taken, is repeated, and XON
/// follows when the group is below.
TEST(FabricSwitch, AsksAHostToPauseAndLetsItGoOn) {
  FabricSwitchOptions device;
  device.classes.lossless = kPriority3;
  device.buffer.ingress.fixed = Bytes(5'000);
  device.buffer.resume_offset = Bytes(2'000);
  device.buffer.headroom = Bytes(50'000);
  device.pause_quanta = 400;  // 20.48 us at 10 Gb/s: repeated after 10.24 us
  FabricBench bench(star_of(3), {device}, {}, 256);
  // Two hosts send 20 frames each to the third at line rate: its queue grows by one frame a frame time.
  for (int i = 0; i < 20; ++i) {
    for (const uint32_t from : {0u, 1u}) bench.send({.from = from, .to = 2, .dscp = kDscp3}, Time(i * kFrameTime));
  }
  bench.run();
  EXPECT_EQ(bench.received(2).size(), 40u);
  EXPECT_TRUE(bench.received(0).empty());
  // After k frame times 2k frames are in and k - 1 out: host 0's group has k/2, rounded up, until it has 5. Then the
  // 20.48 us of the run leave time for one repetition, until all is sent and XON is due at 3 frames.
  ASSERT_GE(bench.pauses.size(), 3u);
  EXPECT_EQ(bench.pauses.front().second, priority_pause(kPriority3, 400));
  EXPECT_EQ(bench.pauses[1].second, priority_pause(kPriority3, 400));
  EXPECT_EQ((bench.pauses[1].first - bench.pauses[0].first).ps, 10'240'000);
  EXPECT_EQ(bench.pauses.back().second, priority_pause(kPriority3, 0));
  EXPECT_EQ(bench.drops(), 0u);
  EXPECT_TRUE(bench.received(1).empty());
  EXPECT_EQ(bench.pool().available(), bench.pool().size());
}

TEST(FabricSwitch, TheWatchdogEndsAStorm) {
  FabricSwitchOptions device;
  device.classes.lossless = kPriority3;
  device.watchdog = WatchdogOptions{.detection = microseconds(400), .restoration = microseconds(400)};
  FabricBench bench(star_of(3), {device}, {}, 256);
  const auto storm_for = [&](int64_t from_us, int64_t to_us) {
    // A pause of 65535 quanta is 3.36 ms; refreshed until `to`, then ended by XON.
    bench.send_pause(1, priority_pause(kPriority3, kMaxQuanta), Time() + microseconds(from_us));
    bench.run(Time() + microseconds(to_us));
    bench.send_pause(1, priority_pause(kPriority3, 0), Time() + microseconds(to_us));
  };
  for (int i = 0; i < 5; ++i) bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time(1'000'000));
  bench.send({.from = 0, .to = 1, .dscp = 0}, Time() + microseconds(100));  // others are not concerned
  storm_for(0, 1000);
  // Looked at every 100 us: found at 500 us at the latest, and the queue is dropped.
  EXPECT_EQ(bench.host_port(1).storms, 1u);
  EXPECT_EQ(bench.drops(FabricDrop::kWatchdog), 5u);
  EXPECT_EQ(bench.received(1).size(), 1u);
  // What comes before the end of the restoration is dropped, what comes after it passes.
  bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time() + microseconds(1100));
  bench.run();
  bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time() + microseconds(2000));
  bench.run();
  EXPECT_EQ(bench.drops(FabricDrop::kWatchdog), 6u);
  EXPECT_EQ(bench.received(1).size(), 1u);
  // The looks are 100 us apart, the first 100 us after the pause has come. The first frame came to the queue when 1504
  // bytes had come in from 1 us on; the storm is over 400 us after the first look that finds no pause.
  const auto storms = bench.fabric().storms().rows();
  ASSERT_EQ(storms.size(), 1u);
  const FabricStorm& storm = storms.front();
  EXPECT_EQ(storm.port, bench.fabric().topology().host_port(1));
  EXPECT_EQ(storm.priority, 3u);
  EXPECT_GE(storm.begin - storm.stuck, microseconds(400));
  EXPECT_LE(storm.begin - storm.stuck, microseconds(500));
  EXPECT_GE(storm.end, Time() + microseconds(1400));
  EXPECT_LE(storm.end, Time() + microseconds(1600));
  EXPECT_EQ(storm.dropped, 6u);
  EXPECT_EQ(storm.forwarded, 0u);
}

TEST(FabricSwitch, TheWatchdogMayForwardThroughAStorm) {
  FabricSwitchOptions device;
  device.classes.lossless = kPriority3;
  device.watchdog = WatchdogOptions{
      .detection = microseconds(400), .restoration = microseconds(400), .action = StormAction::kForward};
  FabricBench bench(star_of(2), {device}, {}, 256);
  bench.send_pause(1, priority_pause(kPriority3, kMaxQuanta), Time());
  for (int i = 0; i < 5; ++i) bench.send({.from = 0, .to = 1, .dscp = kDscp3}, Time(1'000'000));
  bench.run(Time() + microseconds(350));
  EXPECT_TRUE(bench.received(1).empty());
  bench.run(Time() + microseconds(600));
  EXPECT_EQ(bench.received(1).size(), 5u);
  EXPECT_EQ(bench.drops(), 0u);
  const auto storms = bench.fabric().storms().rows();
  ASSERT_EQ(storms.size(), 1u);
  EXPECT_EQ(storms.front().end, Time::never());
  EXPECT_EQ(storms.front().dropped, 0u);
  EXPECT_EQ(storms.front().forwarded, 5u);
}

TEST(FabricSwitch, CutThroughDoesNotWaitForTheLastBit) {
  FabricSwitchOptions device;
  device.latency = nanoseconds(300);
  device.forwarding = Forwarding::kCutThrough;
  FabricBench same(star_of(2), {device}, {}, 64);
  same.send({.from = 0, .to = 1}, Time());
  same.run();
  // Link 100, 64 + 24 bytes 70.4, switch 300, frame 819.2, link 100 ns.
  EXPECT_EQ(same.received(1).front().arrival.ps, 100'000 + 70'400 + 300'000 + kFrameTime + 100'000);
  // Four times as fast an output would be done at 100 + 70.4 + 300 + 204.8 ns, but the last bit is in at 919.2 ns.
  const std::vector<Line> lines = {k10G, {Bandwidth(40'000'000'000), nanoseconds(100)}};
  FabricBench faster(star(lines), {device}, {}, 64);
  faster.send({.from = 0, .to = 1}, Time());
  faster.run();
  EXPECT_EQ(faster.received(1).front().arrival.ps, 100'000 + kFrameTime + 100'000);
}

/// What a host sends in a turn needs no further step to be heard: the next is when the frame has arrived.
TEST(FabricSwitch, HearsInRunningAheadWhatWasSentInTheTurn) {
  FabricBench bench(star_of(2), {FabricSwitchOptions{}});
  const Time now(1'000'000);
  bench.fabric().step(now);
  bench.send({.from = 0, .to = 1}, now);
  const Time there = bench.fabric().run_ahead(Time::never());
  EXPECT_GT(there, now);
  EXPECT_TRUE(bench.fabric().step(there));
  EXPECT_EQ(bench.received(1).size(), 1u);
}

/// Host 1's address moves to host 2 while a frame for it is on its way to the switch: the short frame that says so is
/// there before the long one.
TEST(FabricSwitch, AFrameGoesWhereItsStationIsWhenItIsInTheSwitch) {
  FabricBench bench(star_of(3), {FabricSwitchOptions{}});
  bench.send({.from = 0, .to = 1, .length = 1500}, Time());
  bench.send({.from = 2, .to = 0, .length = 64, .as = 1}, Time());
  bench.run();
  EXPECT_EQ(bench.received(0).size(), 1u);
  EXPECT_EQ(bench.received(1).size(), 0u);
  EXPECT_EQ(bench.received(2).size(), 1u);
}

TEST(FabricSwitch, RefusesOptionsOutOfRange) {
  const auto make = [](auto change) {
    FabricSwitchOptions device;
    change(device);
    FabricBench bench(star_of(2), {device}, {}, 64);
  };
  EXPECT_NO_THROW(make([](FabricSwitchOptions&) {}));
  EXPECT_THROW(make([](FabricSwitchOptions& d) { d.latency = Duration(-1); }), Error);
  EXPECT_THROW(make([](FabricSwitchOptions& d) { d.buffer.egress.exponent = 9; }), Error);
  EXPECT_THROW(make([](FabricSwitchOptions& d) { d.scheduler.weights[2] = 0; }), Error);
  EXPECT_THROW(make([](FabricSwitchOptions& d) { d.pause_quanta = 0; }), Error);
  EXPECT_THROW(make([](FabricSwitchOptions& d) { d.red = RedOptions{.minimum = Bytes(2), .maximum = Bytes(1)}; }),
               Error);
}

}  // namespace
}  // namespace rankwire
