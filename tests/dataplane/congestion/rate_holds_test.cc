#include "dataplane/congestion/rate_holds.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "dataplane/congestion/mixed_control.h"
#include "dataplane/congestion/paced_senders.h"

namespace rankwire {
namespace {

constexpr Bandwidth kLine{100'000'000'000};
constexpr Bandwidth kHeld{1'000'000'000};  // 1000 bytes in 8 us

Time at_us(int64_t us) {
  return Time() + microseconds(us);
}

/// Two queue pairs, which no congestion control holds, of one connection.
struct HeldBench {
  explicit HeldBench(Duration catch_up = microseconds(100)) : holds({0, 0}, 1, catch_up) {
    const std::array lines{kLine, kLine};
    senders = std::make_unique<PacedSenders>(
        make_unhindered_control(lines), PacingOptions{.mtu = 1000, .catch_up = catch_up, .holds = &holds}, lines, 1);
  }
  void hold(Bandwidth rate, Time now) {
    if (!holds.set(0, rate, now)) return;
    for (const uint32_t queue_pair : {0u, 1u}) senders->renew(queue_pair, 0, now);
  }
  /// Sends a packet of 1000 bytes and ends the turn: whether it is queued again.
  bool send(uint32_t queue_pair, Time now) {
    EXPECT_GE(senders->packets(queue_pair, 0, 16, now), 1u);
    senders->sent(queue_pair, 1, Bytes(1000), now);
    return senders->place(queue_pair, 0, 0, now);
  }
  /// When a queue pair leaves the wheel to be queued again, and which.
  Time wait(uint32_t& queue_pair) {
    for (;;) {
      const Time next = senders->next_event(0);
      if (next == Time::never()) return next;
      now_ = std::max(next, now_);
      if ((queue_pair = senders->take(0, now_)) != PacedSenders::kNone && senders->place(queue_pair, 0, 0, now_))
        return now_;
    }
  }

  RateHolds holds;
  std::unique_ptr<PacedSenders> senders;

 private:
  Time now_;
};

TEST(RateHolds, NobodyIsHeldUntilItIsSaid) {
  HeldBench bench;
  ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(0)));
  EXPECT_EQ(bench.senders->packets(0, 0, 16, at_us(0)), 16u);
  EXPECT_TRUE(bench.send(0, at_us(0)));
  EXPECT_FALSE(bench.senders->waits_for_hold(0));
}

TEST(RateHolds, OnePacketAtATimeOnAnAbsoluteSchedule) {
  HeldBench bench;
  bench.hold(kHeld, at_us(5));
  ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(5)));
  for (int i = 0; i < 100; ++i) {
    const Time due = at_us(5 + 8 * i);
    EXPECT_EQ(bench.senders->packets(0, 0, 16, due), 1u);
    // A little late each time: the schedule does not move.
    EXPECT_FALSE(bench.send(0, due + microseconds(i % 8)));
    EXPECT_TRUE(bench.senders->waits_for_hold(0));
    uint32_t queue_pair = 0;
    ASSERT_EQ(bench.wait(queue_pair), due + microseconds(8));
  }
  EXPECT_EQ(bench.senders->slips() + bench.senders->displaced(), 0u);
}

TEST(RateHolds, QueuePairsOfAConnectionHaveItTogether) {
  HeldBench bench;
  bench.hold(kHeld, at_us(0));
  ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(0)));
  ASSERT_TRUE(bench.senders->offer(1, 0, 0, at_us(0)));
  EXPECT_FALSE(bench.send(0, at_us(0)));
  // The other was queued before, and finds the time taken.
  EXPECT_EQ(bench.senders->packets(1, 0, 16, at_us(0)), 0u);
  EXPECT_FALSE(bench.senders->place(1, 0, 0, at_us(0)));
  for (int i = 1; i < 100; ++i) {
    uint32_t queue_pair = 0;
    ASSERT_EQ(bench.wait(queue_pair), at_us(8 * i));
    EXPECT_FALSE(bench.send(queue_pair, at_us(8 * i)));
  }
}

// 8 us at 1 Gbit/s; after 2 of them 3 Gbit/s: what is left takes 2 us. Or 0.25 Gbit/s: 24 us. Or nothing holds it.
TEST(RateHolds, AnotherRateChangesWhatIsLeftOfAWait) {
  struct Change {
    Bandwidth rate;
    Time due;
  };
  for (const Change& change : {Change{Bandwidth(3'000'000'000), at_us(4)}, Change{Bandwidth(250'000'000), at_us(26)},
                               Change{Bandwidth(), at_us(2)}}) {
    HeldBench bench;
    bench.hold(kHeld, at_us(0));
    ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(0)));
    EXPECT_FALSE(bench.send(0, at_us(0)));
    EXPECT_EQ(bench.senders->next_event(0), at_us(8));
    bench.hold(change.rate, at_us(2));
    EXPECT_LE(bench.senders->next_event(0), change.due);
    uint32_t queue_pair = 1;
    EXPECT_EQ(bench.wait(queue_pair), change.due);
    EXPECT_EQ(queue_pair, 0u);
  }
}

// Others have the line for 1000 us: three packets' time is caught up, as 20 us are two and a half and one is due.
TEST(RateHolds, CatchingUpIsBounded) {
  HeldBench bench(microseconds(20));
  bench.hold(kHeld, at_us(0));
  ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(0)));
  int at_once = 1;
  while (bench.send(0, at_us(1000))) ++at_once;
  EXPECT_EQ(at_once, 3);
  uint32_t queue_pair = 0;
  EXPECT_EQ(bench.wait(queue_pair), at_us(1004));
}

TEST(RateHolds, RestEarnsNoCredit) {
  HeldBench bench;
  bench.hold(kHeld, at_us(0));
  ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(0)));
  EXPECT_FALSE(bench.send(0, at_us(0)));
  uint32_t queue_pair = 0;
  EXPECT_EQ(bench.wait(queue_pair), at_us(8));
  bench.senders->rest(0);
  ASSERT_TRUE(bench.senders->offer(0, 0, 0, at_us(50)));
  EXPECT_FALSE(bench.send(0, at_us(50)));
  EXPECT_EQ(bench.wait(queue_pair), at_us(58));
}

}  // namespace
}  // namespace rankwire
