#include "dataplane/congestion/paced_senders.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "dataplane/congestion/options.h"

namespace rankwire {
namespace {

constexpr Bandwidth kPacedLine{100'000'000'000};
constexpr Bandwidth kGigabit{1'000'000'000};  // 1000 bytes in 8 us
constexpr uint32_t kTurnPackets = 16;

Time turn_at(int64_t us) {
  return Time() + microseconds(us);
}

/// Says what it is told to say, one thing before and another from `change` on.
class Scripted final : public CongestionControl {
 public:
  explicit Scripted(Allowance before) : before_(before), after_(before) {}
  void change_at(Time change, Allowance after) {
    change_ = change;
    after_ = after;
  }
  void notified(uint32_t, Time) noexcept override {}
  void sent(uint32_t, Time, Bytes on_line) noexcept override { sent_ += on_line; }
  Allowance allowance(uint32_t, Time now) noexcept override {
    looked_ = now;
    return now < change_ ? before_ : after_;
  }
  Time next_update(uint32_t) const noexcept override { return looked_ < change_ ? change_ : Time::never(); }
  Bytes total_sent() const { return sent_; }

 private:
  Allowance before_, after_;
  Time change_ = Time::never(), looked_ = Time::long_ago();
  Bytes sent_;
};

struct PacedBench {
  explicit PacedBench(Allowance allowance, const PacingOptions& options = {.mtu = 1000}) {
    auto control = std::make_unique<Scripted>(allowance);
    script = control.get();
    senders = std::make_unique<PacedSenders>(std::move(control), options, std::array{kPacedLine}, 1);
  }
  bool offer(Time now, uint32_t in_flight = 0) { return senders->offer(0, 0, in_flight, now); }
  uint32_t packets(Time now, uint32_t in_flight = 0) { return senders->packets(0, in_flight, kTurnPackets, now); }
  /// Sends `packets` of 1000 bytes and ends the turn.
  bool send(Time now, uint32_t packets = 1) {
    senders->sent(0, packets, Bytes(1000 * packets), now);
    return senders->place(0, 0, 0, now);
  }
  /// The time at which the queue pair leaves the wheel to be queued again.
  Time wait() {
    while (true) {
      const Time next = senders->next_event(0);
      if (next == Time::never() || (senders->take(0, next) == 0 && senders->place(0, 0, 0, next))) return next;
    }
  }

  Scripted* script;
  std::unique_ptr<PacedSenders> senders;
};

TEST(PacedSenders, AtLineRateNothingWaits) {
  PacedBench bench({.rate = kPacedLine});
  EXPECT_TRUE(bench.offer(turn_at(0)));
  EXPECT_EQ(bench.packets(turn_at(0)), kTurnPackets);
  EXPECT_TRUE(bench.send(turn_at(0), kTurnPackets));
  EXPECT_EQ(bench.senders->next_event(0), Time::never());
  EXPECT_EQ(bench.script->total_sent(), Bytes(16'000));
}

// 10 us are an interval: what it is at its end, and the lowest meanwhile.
TEST(PacedSenders, TellsASeriesWhatChanges) {
  AllowanceSeries series(microseconds(10), 10);
  series.begin(1);
  PacedBench bench({.rate = kPacedLine}, {.mtu = 1000, .series = &series});
  bench.offer(turn_at(1));
  bench.script->change_at(turn_at(2), {.rate = kGigabit, .window = Bytes(2000)});
  EXPECT_EQ(bench.packets(turn_at(3)), 1u);
  bench.script->change_at(turn_at(4), {.rate = kPacedLine, .window = Bytes(5000)});
  EXPECT_EQ(bench.packets(turn_at(5)), 5u);
  EXPECT_EQ(bench.packets(turn_at(12)), 5u) << "which changes nothing";
  ASSERT_EQ(series.rows().size(), 1u);
  const AllowanceSample& row = series.rows().front();
  EXPECT_EQ(row.at, turn_at(10));
  EXPECT_EQ(row.allowance, (Allowance{.rate = kPacedLine, .window = Bytes(5000)}));
  EXPECT_EQ(row.lowest, kGigabit);
  EXPECT_EQ(row.smallest_window, Bytes(2000));
}

TEST(PacedSenders, OnePacketAtATimeOnAnAbsoluteSchedule) {
  PacedBench bench({.rate = kGigabit}, {.mtu = 1000, .catch_up = microseconds(100)});
  ASSERT_TRUE(bench.offer(turn_at(5)));
  for (int i = 0; i < 100; ++i) {
    const Time due = turn_at(5 + 8 * i);
    EXPECT_EQ(bench.packets(due), 1u);
    // A little late each time: the schedule does not move.
    EXPECT_FALSE(bench.send(due + microseconds(i % 8)));
    ASSERT_EQ(bench.wait(), due + microseconds(8));
  }
  EXPECT_EQ(bench.senders->slips() + bench.senders->displaced(), 0u);
}

// 20 us of catch-up are two packets and a half: what is beyond slips. Each time the wheel is looked at 1000 us late, so
// 980 us are lost.
TEST(PacedSenders, CatchingUpIsBounded) {
  PacedBench bench({.rate = kGigabit}, {.mtu = 1000, .catch_up = microseconds(20)});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  EXPECT_EQ(bench.packets(turn_at(0)), 1u);
  EXPECT_FALSE(bench.send(turn_at(0)));
  for (int64_t stall = 1; stall <= 2; ++stall) {
    const Time late = bench.senders->next_event(0) + microseconds(1000);
    ASSERT_EQ(bench.senders->take(0, late), 0u);
    ASSERT_TRUE(bench.senders->place(0, 0, 0, late));
    uint32_t at_once = 0;
    do {
      ++at_once;
      ASSERT_EQ(bench.packets(late), 1u);
    } while (bench.send(late));
    EXPECT_EQ(at_once, 3u);
    EXPECT_EQ(bench.senders->slips(), static_cast<uint64_t>(stall));
    EXPECT_EQ(bench.senders->longest_slip(), microseconds(980) * stall);
    EXPECT_EQ(bench.senders->next_event(0), late + microseconds(4));
  }
  EXPECT_EQ(bench.senders->displaced(), 0u);
}

// It is queued all the time, and others have the line: nobody was late, and no more is caught up.
TEST(PacedSenders, WhatOthersTakeIsNoSlip) {
  PacedBench bench({.rate = kGigabit}, {.mtu = 1000, .catch_up = microseconds(20)});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  const Time late = turn_at(1000);
  uint32_t at_once = 0;
  do {
    ++at_once;
    ASSERT_EQ(bench.packets(late), 1u);
  } while (bench.send(late));
  EXPECT_EQ(at_once, 3u);
  EXPECT_EQ(bench.senders->displaced(), 1u);
  EXPECT_EQ(bench.senders->slips(), 0u);
  EXPECT_EQ(bench.senders->longest_slip(), Duration());
  EXPECT_EQ(bench.wait(), late + microseconds(4));
}

TEST(PacedSenders, RestEarnsNoCredit) {
  PacedBench bench({.rate = kGigabit}, {.mtu = 1000, .catch_up = microseconds(100)});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  bench.senders->sent(0, 1, Bytes(1000), turn_at(0));
  bench.senders->rest(0);
  // Too early: it waits, and is not queued meanwhile.
  EXPECT_FALSE(bench.offer(turn_at(3)));
  EXPECT_FALSE(bench.offer(turn_at(9)));
  EXPECT_EQ(bench.wait(), turn_at(8));
  bench.senders->rest(0);
  EXPECT_TRUE(bench.offer(turn_at(500)));
  EXPECT_TRUE(bench.offer(turn_at(500))) << "it is queued";
  EXPECT_FALSE(bench.send(turn_at(500)));
  EXPECT_EQ(bench.wait(), turn_at(508));
}

TEST(PacedSenders, BurstsKeepTheMeanRate) {
  PacedBench bench({.rate = kGigabit}, {.mtu = 1000, .burst = 4});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  for (int burst = 0; burst < 10; ++burst) {
    const Time due = turn_at(32 * burst);
    EXPECT_EQ(bench.packets(due), 4u);
    // The line has room for three, and later for the last: the burst goes on although the next packet is not due.
    EXPECT_TRUE(bench.send(due, 3));
    EXPECT_EQ(bench.packets(due + nanoseconds(300)), 1u);
    EXPECT_FALSE(bench.send(due + nanoseconds(300)));
    ASSERT_EQ(bench.wait(), due + microseconds(32));
  }
}

// 8 us at 1 Gb/s; after 4 of them 2 Gb/s: the other half takes 2 us.
TEST(PacedSenders, RisingRateShortensTheWait) {
  PacedBench bench({.rate = kGigabit});
  bench.script->change_at(turn_at(4), {.rate = Bandwidth(2'000'000'000)});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  bench.packets(turn_at(0));
  EXPECT_FALSE(bench.send(turn_at(0)));
  EXPECT_EQ(bench.senders->next_event(0), turn_at(4));
  EXPECT_EQ(bench.wait(), turn_at(6));
}

// The other half takes 16 us at 0.25 Gb/s.
TEST(PacedSenders, FallingRateStretchesTheWait) {
  PacedBench bench({.rate = kGigabit});
  bench.script->change_at(turn_at(4), {.rate = Bandwidth(250'000'000)});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  bench.packets(turn_at(0));
  EXPECT_FALSE(bench.send(turn_at(0)));
  EXPECT_EQ(bench.wait(), turn_at(20));
}

TEST(PacedSenders, RateOfTheLineEndsTheWait) {
  PacedBench bench({.rate = kGigabit});
  bench.script->change_at(turn_at(4), {.rate = kPacedLine});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  bench.packets(turn_at(0));
  EXPECT_FALSE(bench.send(turn_at(0)));
  EXPECT_EQ(bench.wait(), turn_at(4));
  EXPECT_EQ(bench.packets(turn_at(4)), kTurnPackets);
}

// Three packets and a half.
TEST(PacedSenders, WindowsCountWholePackets) {
  PacedBench bench({.rate = kPacedLine, .window = Bytes(3'500)});
  ASSERT_TRUE(bench.offer(turn_at(0)));
  EXPECT_EQ(bench.packets(turn_at(0), 0), 3u);
  EXPECT_EQ(bench.packets(turn_at(0), 2), 1u);
  EXPECT_EQ(bench.packets(turn_at(0), 3), 0u);
  EXPECT_FALSE(bench.senders->place(0, 0, 3, turn_at(0)));
  EXPECT_FALSE(bench.offer(turn_at(1), 3));
  EXPECT_EQ(bench.senders->next_event(0), Time::never()) << "an acknowledgement opens windows, not time";
  EXPECT_TRUE(bench.offer(turn_at(2), 2));
}

TEST(PacedSenders, WindowHoldsAtLeastOnePacket) {
  PacedBench bench({.rate = kPacedLine, .window = Bytes(10)});
  EXPECT_TRUE(bench.offer(turn_at(0)));
  EXPECT_EQ(bench.packets(turn_at(0)), 1u);
}

// What a lane takes does not depend on the queue pairs, nor what a queue pair takes on the lanes.
TEST(PacedSenders, AQueuePairHasOnePlaceHoweverManyLanesThereAre) {
  const auto bytes = [](uint32_t queue_pairs, uint32_t lanes) {
    const std::vector<Bandwidth> lines(queue_pairs, kPacedLine);
    return PacedSenders(std::make_unique<Scripted>(Allowance()), {.mtu = 1000}, lines, lanes).bytes();
  };
  EXPECT_GT(bytes(100, 1), bytes(0, 1));
  EXPECT_EQ(bytes(100, 8) - bytes(0, 8), bytes(100, 1) - bytes(0, 1));
}

}  // namespace
}  // namespace rankwire
