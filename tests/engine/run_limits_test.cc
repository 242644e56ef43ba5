// When the loop gives up: the deadline, and the watchdog that tells slow from stalled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::WorkloadBuilder;

constexpr Bandwidth kRate(8'000'000'000);  // one byte a nanosecond

class NoRows final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord> rows) noexcept override { operations_ += rows.size(); }
  void messages(std::span<const MessageRecord>) noexcept override {}
  size_t operations_ = 0;
};

/// One rank a port, in virtual time; steps are not cut into slices.
struct Bench {
  explicit Bench(Workload w)
      : workload(std::move(w)),
        placement(place_ranks(ranks(),
                              {.hosts = ranks(), .ports = ranks(), .addresses = {.first = Ipv4Address{0xC6120001}}})),
        plan(make_plan(workload, placement, {.chunk = Bytes(std::numeric_limits<int32_t>::max())}, 1)),
        engine(workload, plan, {}, rows) {}

  uint32_t ranks() const { return static_cast<uint32_t>(workload.ranks.size()); }

  RunResult run_over(Transport& transport, const RunOptions& options) {
    transport.connect(transport.prepare(plan.transport));
    VirtualClock clock;
    const std::atomic<bool> go_on{false};
    return run(engine, transport, {}, clock, options, go_on);
  }

  RunResult run_over_model(const RunOptions& options) {
    NetworkModel model(star_network(
        {.port_bandwidth = std::vector<Bandwidth>(ranks(), kRate), .local_bandwidth = kRate}, plan.transport));
    return run_over(model, options);
  }

  NoRows rows;
  Workload workload;
  Placement placement;
  Plan plan;
  Engine engine;
};

Workload one_send(int64_t bytes) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, bytes);
  builder.receive(1, 0, 0, bytes);
  return builder.build();
}

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

TEST(RunLimits, AMessageThatTakesLongerThanTheStallTimeoutIsNoStallInTheModel) {
  // 2 x 10^9 bytes at one byte a nanosecond: 2 s on their way, of which nothing is heard before the end.
  Bench bench(one_send(2'000'000'000));
  EXPECT_EQ(bench.run_over_model({.stall_timeout = milliseconds(100)}).verdict, Verdict::kOk);
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
  const RunResult result = bench.run_over_model({.deadline = seconds(5)});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_THAT(result.reason, HasSubstr("deadline of 5 s passed"));
  EXPECT_EQ(result.total, seconds(5));
  EXPECT_EQ(bench.rows.operations_, 0u);
}

TEST(RunLimits, WhatEndsAtTheDeadlineIsInTime) {
  WorkloadBuilder builder(1);
  builder.compute(0, seconds(5));
  Bench bench(builder.build());
  EXPECT_EQ(bench.run_over_model({.deadline = seconds(5)}).verdict, Verdict::kOk);
}

TEST(RunLimits, ADurationBeyondTheEndOfTimeIsBehindTheDeadline) {
  // Duration::max() is what the roofline says of work that does not fit.
  WorkloadBuilder builder(1);
  builder.compute(0, Duration::max(), {builder.compute(0, seconds(1))});
  Bench bench(builder.build());
  const RunResult result = bench.run_over_model({.deadline = seconds(5)});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.total, seconds(5));
  EXPECT_EQ(bench.rows.operations_, 1u);
}

}  // namespace
}  // namespace rankwire
