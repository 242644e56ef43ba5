// When the loop gives up: the deadline, and the watchdog that tells slow from stalled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/engine/run.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::Bench;
using ::testing::HasSubstr;
using testing::one_send;
using testing::WorkloadBuilder;

/// Takes one message and moves a packet every 50 ms: 20 of them, of which the last delivers the message.
class SlowTransport final : public Transport {
 public:
  enum class Packets { kArrive, kAreLost };
  explicit SlowTransport(Packets packets) : packets_(packets) {}

  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    if (!messages.empty()) message_ = messages.front(), next_ = now + milliseconds(50);
    return messages.size();
  }
  size_t poll(Time now, std::span<Event> events) noexcept override {
    if (now < next_) return 0;
    ++counters_.packets_tx;
    counters_.packets_rx += packets_ == Packets::kArrive;
    next_ = now + milliseconds(50);
    if (counters_.packets_rx < 20) return 0;
    next_ = Time::never();
    for (Event& event : events.first(2)) event.connection = message_.connection, event.bytes = message_.bytes;
    events[0].kind = EventKind::kReceived;
    events[0].received = {now, now, 0, 0};
    events[1].sent = {now, now, now, now};
    return 2;
  }
  Time next_event() const noexcept override { return next_; }
  uint64_t activity() const noexcept override { return counters_.packets_tx + counters_.packets_rx; }
  TransportCounters counters() const override { return counters_; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return ""; }
  void close() noexcept override {}

 private:
  const Packets packets_;
  Message message_;
  Time next_ = Time::never();
  TransportCounters counters_;
};

/// A real clock by what it says of itself: each look takes 1 ms, and behind the look number `stop` its thread stands
/// still for 300 ms. The look number `last` interrupts the run.
class StoppingClock final : public Clock {
 public:
  StoppingClock(uint32_t stop, uint32_t last, std::atomic<bool>& interrupted)
      : stop_(stop), last_(last), interrupted_(interrupted) {}

  void start() noexcept override {}
  Time now() noexcept override {
    ++looks_;
    if (looks_ == last_) interrupted_ = true;
    const Time seen = now_;
    now_ += looks_ == stop_ ? milliseconds(300) : milliseconds(1);
    return seen;
  }
  void idle_until(Time) noexcept override {}
  bool runs_by_itself() const noexcept override { return true; }

 private:
  const uint32_t stop_, last_;
  std::atomic<bool>& interrupted_;
  uint32_t looks_ = 0;
  Time now_;
};

/// The longest turn that is known at the end of a run that computes, and so makes progress in each turn.
Duration standstill_of(uint32_t stop, uint32_t last) {
  WorkloadBuilder builder(1);
  builder.compute(0, seconds(100));
  Bench bench(builder.build());
  NetworkModel model(bench.network());
  model.connect(model.prepare(bench.plan.transport));
  std::atomic<bool> interrupted{false};
  StoppingClock clock(stop, last, interrupted);
  return run(bench.engine, model, {}, clock, {.stall_timeout = milliseconds(400)}, interrupted).workers[0].standstill;
}

// Between its last look at the clock and the end of the loop.
TEST(RunLimits, AStandstillThatTheRunEndsInIsSeen) {
  EXPECT_EQ(standstill_of(10, 10), milliseconds(300));
}

// The next turn made progress, and yet the run may be over because of the standstill.
TEST(RunLimits, AStandstillIsKnownForAsLongAsItMayHaveEndedTheRun) {
  EXPECT_EQ(standstill_of(10, 12), milliseconds(300));
  EXPECT_EQ(standstill_of(10, 400), milliseconds(300)) << "390 ms behind it";
  EXPECT_EQ(standstill_of(10, 420), milliseconds(1)) << "410 ms behind it";
}

/// A real clock by what it says of itself: each look takes 1 ms, and look number `last` lets go of what is held.
class ReleasingClock final : public Clock {
 public:
  ReleasingClock(uint32_t last, std::atomic<bool>& held) : last_(last), held_(held) {}

  void start() noexcept override {}
  Time now() noexcept override {
    if (++looks_ == last_) held_ = false;
    return Time() + milliseconds(looks_ - 1);
  }
  void idle_until(Time) noexcept override {}
  bool runs_by_itself() const noexcept override { return true; }

 private:
  const uint32_t last_;
  std::atomic<bool>& held_;
  uint32_t looks_ = 0;
};

TEST(RunLimits, WhatIsHeldIsPostedLaterAndNoStall) {
  Bench bench(one_send(1'000));
  SlowTransport transport(SlowTransport::Packets::kArrive);
  transport.connect(transport.prepare(bench.plan.transport));
  std::atomic<bool> held{true};
  ReleasingClock clock(600, held);
  const std::atomic<bool> go_on{false};
  const RunResult result =
      run(bench.engine, transport, {}, clock, {.stall_timeout = milliseconds(200), .held = &held}, go_on);
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  // The first look is at 0, number 600 at 599 ms, and then the message takes 20 packets.
  EXPECT_EQ(result.held, milliseconds(599));
  EXPECT_EQ(result.total, milliseconds(599 + 20 * 50));
}

TEST(RunLimits, AMessageThatTakesLongerThanTheStallTimeoutIsNoStallInTheModel) {
  // 2 x 10^9 bytes at one byte a nanosecond: 2 s on their way, of which nothing is heard before the end.
  Bench bench(one_send(2'000'000'000), {}, {.chunk = Bytes(2'000'000'000)});
  EXPECT_EQ(bench.run({.stall_timeout = milliseconds(100)}).verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.rank_times().back(), seconds(2));
}

TEST(RunLimits, PacketsThatArriveAreProgress) {
  Bench bench(one_send(1'000));
  SlowTransport transport(SlowTransport::Packets::kArrive);
  const RunResult result = bench.run_over(transport, {.stall_timeout = milliseconds(200)});
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  EXPECT_EQ(result.total, milliseconds(20 * 50));
}

TEST(RunLimits, PacketsThatAreOnlySentAreNoProgress) {
  // The first turn after more than 200 ms without progress is that of 250 ms.
  Bench bench(one_send(1'000));
  SlowTransport transport(SlowTransport::Packets::kAreLost);
  const RunResult result = bench.run_over(transport, {.stall_timeout = milliseconds(200)});
  EXPECT_EQ(result.verdict, Verdict::kStalled);
  EXPECT_THAT(result.reason, HasSubstr("no progress for 0.25 s"));
  EXPECT_EQ(result.total, milliseconds(250));
}

TEST(RunLimits, NothingHappensBehindTheDeadline) {
  // The only node would end the run, but 5 s too late.
  WorkloadBuilder builder(1);
  builder.compute(0, seconds(10));
  Bench bench(builder.build());
  const RunResult result = bench.run({.deadline = seconds(5)});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_THAT(result.reason, HasSubstr("deadline of 5 s passed"));
  EXPECT_EQ(result.total, seconds(5));
  EXPECT_EQ(bench.rows.operations_.size(), 0u);
}

TEST(RunLimits, WhatEndsAtTheDeadlineIsInTime) {
  WorkloadBuilder builder(1);
  builder.compute(0, seconds(5));
  Bench bench(builder.build());
  EXPECT_EQ(bench.run({.deadline = seconds(5)}).verdict, Verdict::kOk);
}

TEST(RunLimits, ADurationBeyondTheEndOfTimeIsBehindTheDeadline) {
  // Duration::max() is what the roofline says of work that does not fit.
  WorkloadBuilder builder(1);
  builder.compute(0, Duration::max(), {builder.compute(0, seconds(1))});
  Bench bench(builder.build());
  const RunResult result = bench.run({.deadline = seconds(5)});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.total, seconds(5));
  EXPECT_EQ(bench.rows.operations_.size(), 1u);
}

}  // namespace
}  // namespace rankwire
