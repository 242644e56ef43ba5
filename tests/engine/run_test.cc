#include "emulator/engine/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

using testing::NoRows;
using testing::WorkloadBuilder;

/// What is posted has been sent and received when the transport is asked next. Writes down what the loop does: P posts
/// messages, L polls, R receives, T sends what is due.
class PromptTransport final : public Transport {
 public:
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time, std::span<const Message> messages) noexcept override {
    if (!messages.empty()) steps_ += 'P';
    posted_.insert(posted_.end(), messages.begin(), messages.end());
    return messages.size();
  }
  size_t poll(Time now, std::span<Event> events) noexcept override {
    steps_ += 'L';
    return report(now, events);
  }
  size_t receive(Time now, std::span<Event> events) noexcept override {
    steps_ += 'R';
    return report(now, events);
  }
  void send_due(Time) noexcept override { steps_ += 'T'; }
  Time next_event() const noexcept override { return posted_.empty() ? Time::never() : Time(); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return ""; }
  void close() noexcept override {}

  const std::string& steps() const { return steps_; }

 private:
  size_t report(Time now, std::span<Event> events) noexcept {
    size_t n = 0;
    for (const Message& message : posted_) {
      Event sent;
      sent.connection = message.connection;
      sent.index = message.index;
      sent.bytes = message.bytes;
      sent.sent = {now, now, now, now};
      Event received = sent;
      received.kind = EventKind::kReceived;
      received.at_source = false;
      received.received = {now, now, 0, 0};
      events[n++] = sent;
      events[n++] = received;
    }
    posted_.clear();
    return n;
  }

  std::vector<Message> posted_;
  std::string steps_;
};

/// Rank 0 sends to rank 1, which answers.
std::string steps_of_an_exchange(Clock& clock) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 1000);
  builder.send(1, 0, 0, 1000, {builder.receive(1, 0, 0, 1000)});
  builder.receive(0, 1, 0, 1000);
  const Workload workload = builder.build();
  const Placement placement = place_ranks(2, {.hosts = 2, .ports = 2, .addresses = {.first = Ipv4Address{0xC6120001}}});
  const Plan plan = make_plan(workload, placement, {.chunk = Bytes(1 << 20)}, 1);
  NoRows rows;
  Engine engine(workload, plan, {}, rows);
  PromptTransport transport;
  const std::atomic<bool> go_on{false};
  EXPECT_EQ(run(engine, transport, {}, clock, {}, go_on).verdict, Verdict::kOk);
  return transport.steps();
}

// The answer is posted between the halves of the turn in which the message has come.
TEST(Run, InRealTimeAnAnswerLeavesInTheTurnOfItsCause) {
  RealClock clock;
  EXPECT_EQ(steps_of_an_exchange(clock), "PRPTRT");
}

// Turns cost no time, so the answer may wait for the next one.
TEST(Run, InVirtualTimeATurnIsWhole) {
  VirtualClock clock;
  EXPECT_EQ(steps_of_an_exchange(clock), "PLPL");
}

}  // namespace
}  // namespace rankwire
