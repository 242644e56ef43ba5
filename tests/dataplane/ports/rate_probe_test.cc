#include "dataplane/ports/rate_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/ports/forwarding_port.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/wire/headers.h"

namespace rankwire {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr MacAddress kOwn{{0x02, 0, 0, 0, 0, 7}};
constexpr Bandwidth kGigabit{1'000'000'000};

/// In front of one end of a memory link: takes a frame a `gap` at the most.
class SlowPort final : public ForwardingPort {
 public:
  SlowPort(FramePort& port, Duration gap) : ForwardingPort(port), gap_(gap) {}

  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    if (now < free_) return 0;
    free_ = now + gap_;
    return inner_.send(now, buffers.first(1));
  }

 private:
  const Duration gap_;
  Time free_ = Time::long_ago();
};

/// Virtual time, but turns with nothing to wait for take a microsecond.
class TurningClock final : public Clock {
 public:
  void start() noexcept override {}
  Time now() noexcept override { return now_; }
  void idle_until(Time next) noexcept override { now_ = next > now_ ? next : now_ + microseconds(1); }
  bool runs_by_itself() const noexcept override { return true; }

 private:
  Time now_;
};

class RateProbeTest : public ::testing::Test {
 protected:
  /// What arrived at the far end, which gives the memory back.
  std::vector<std::vector<uint8_t>> arrived() {
    std::vector<std::vector<uint8_t>> all;
    std::array<Frame, 64> frames;
    while (const size_t n = link_.second->receive(clock_.now(), frames)) {
      for (const Frame& frame : std::span(frames).first(n))
        all.emplace_back(frame.head, frame.head + frame.head_length);
      link_.second->release(std::span(frames).first(n));
    }
    return all;
  }

  FramePool pool_{8191, 2048};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link_ = make_memory_link(pool_, 4096, "link");
  TurningClock clock_;
  std::atomic<bool> interrupted_{false};
  // A frame of 14 + 962 bytes and 24 around it is 8 us at 1 Gbit/s: 125 frames a millisecond.
  ProbeOptions options_{.payload = 962, .measurements = 3, .each = milliseconds(1), .patience = milliseconds(4)};
};

TEST_F(RateProbeTest, APortThatTakesAllIsAtItsRate) {
  const ProbedPort port{link_.first.get(), kGigabit, kOwn};
  const ProbeResults results = probe_rates({&port, 1}, options_, clock_, interrupted_);
  EXPECT_EQ(results.ports[0].frames, 3 * 125u);
  EXPECT_THAT(results.ports[0].errors, ElementsAre(0, 0, 0));
  EXPECT_EQ(results.ports[0].returned, 0u);
  EXPECT_EQ(results.ports[0].slipped, Duration());
  // In each of three the last of 125 frames begins 124 x 8 us after the first; behind each is a rest of 2 ms.
  EXPECT_EQ(clock_.now(), Time() + microseconds(3 * (992 + 2000)));
}

TEST_F(RateProbeTest, SendsToItself) {
  const ProbedPort port{link_.first.get(), kGigabit, kOwn};
  probe_rates({&port, 1}, options_, clock_, interrupted_);
  const auto frames = arrived();
  ASSERT_EQ(frames.size(), 375u);
  for (const std::vector<uint8_t>& frame : frames) {
    ASSERT_GE(frame.size(), 14u);
    EXPECT_THAT(std::vector<uint8_t>(frame.begin(), frame.begin() + 14),
                ElementsAre(2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 7, 0x88, 0xB5));
  }
}

TEST_F(RateProbeTest, OfAVlanWithItsTag) {
  const ProbedPort port{link_.first.get(), kGigabit, kOwn, 100};
  probe_rates({&port, 1}, options_, clock_, interrupted_);
  for (const std::vector<uint8_t>& frame : arrived()) {
    ASSERT_GE(frame.size(), 18u);
    EXPECT_THAT(std::vector<uint8_t>(frame.begin() + 12, frame.begin() + 18),
                ElementsAre(0x81, 0x00, 0, 100, 0x88, 0xB5));
  }
}

/// A frame each 16 us instead of 8: 125 frames take 2 ms and not 1, of which up to `catch_up` is no slip.
TEST_F(RateProbeTest, APortThatTakesHalfIsTwiceAsLong) {
  SlowPort slow(*link_.first, microseconds(16));
  const ProbedPort port{&slow, kGigabit, kOwn};
  const ProbeResults results = probe_rates({&port, 1}, options_, clock_, interrupted_);
  ASSERT_EQ(results.ports[0].errors.size(), 3u);
  // The last frame begins 124 x 16 us after the first and takes 8 us: 1.992 ms.
  for (const double error : results.ports[0].errors) EXPECT_NEAR(error, 0.992, 0.01);
  EXPECT_GT(results.ports[0].slipped, milliseconds(2));
}

/// The last frame is due after 124 x 8 us and begins after 124 x 16 us: 992 us that nothing slips for.
TEST_F(RateProbeTest, WhatIsCaughtUpWithIsAStallAllTheSame) {
  SlowPort slow(*link_.first, microseconds(16));
  options_.catch_up = milliseconds(10);
  const ProbedPort port{&slow, kGigabit, kOwn};
  const ProbeResults results = probe_rates({&port, 1}, options_, clock_, interrupted_);
  EXPECT_EQ(results.ports[0].slipped, Duration());
  EXPECT_NEAR(static_cast<double>(results.ports[0].worst_stall.ps), 992e6, 10e6);
}

/// One frame in 4 ms, for which 8 us would do.
TEST_F(RateProbeTest, WhatDoesNotSendIsNotWaitedForForever) {
  SlowPort stuck(*link_.first, seconds(1'000));
  const ProbedPort port{&stuck, kGigabit, kOwn};
  const ProbeResults results = probe_rates({&port, 1}, options_, clock_, interrupted_);
  EXPECT_EQ(results.ports[0].frames, 1u);
  EXPECT_THAT(results.ports[0].errors, Each(4000.0 / 8 - 1));
  EXPECT_EQ(clock_.now(), Time() + milliseconds(3 * (4 + 2)));
}

/// Both ends of a link at once: each gets what the other sends, which is not its own.
TEST_F(RateProbeTest, OnlyOnesOwnFramesHaveReturned) {
  const std::vector<ProbedPort> ports = {{link_.first.get(), kGigabit, kOwn}, {link_.second.get(), kGigabit, {{2, 2}}}};
  const ProbeResults strangers = probe_rates(ports, options_, clock_, interrupted_);
  EXPECT_EQ(strangers.ports[0].frames, 375u);
  EXPECT_EQ(strangers.ports[0].returned + strangers.ports[1].returned, 0u);
  const std::vector<ProbedPort> alike = {{link_.first.get(), kGigabit, kOwn}, {link_.second.get(), kGigabit, kOwn}};
  const ProbeResults looped = probe_rates(alike, options_, clock_, interrupted_);
  EXPECT_EQ(looped.ports[0].returned, 375u);
}

TEST_F(RateProbeTest, EndsWhenItIsInterrupted) {
  interrupted_ = true;
  const ProbedPort port{link_.first.get(), kGigabit, kOwn};
  const ProbeResults results = probe_rates({&port, 1}, options_, clock_, interrupted_);
  EXPECT_EQ(results.ports[0].frames, 0u);
  EXPECT_TRUE(results.ports[0].errors.empty());
}

}  // namespace
}  // namespace rankwire
