#include "emulator/engine/split_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace rankwire {
namespace {

/// Something happens at `next` and at nothing else; running ahead goes up to the limit.
class TimedTransport final : public Transport {
 public:
  explicit TimedTransport(Time next) : next_(next) {}
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time, std::span<const Message> messages) noexcept override { return messages.size(); }
  size_t poll(Time, std::span<Event>) noexcept override { return 0; }
  size_t receive(Time, std::span<Event> events) noexcept override {
    ++receives_;
    return events.empty() ? 0 : 1;
  }
  void send_due(Time) noexcept override { ++transmits_; }
  Time next_event() const noexcept override { return next_; }
  Time run_ahead(Time limit) noexcept override { return next_ = std::max(next_, limit); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return {}; }
  void close() noexcept override {}

  int receives() const { return receives_; }
  int transmits() const { return transmits_; }

 private:
  Time next_;
  int receives_ = 0, transmits_ = 0;
};

/// What is local has nobody to wait for, and the wire must not pass it: the engine may post when it hears of it.
TEST(SplitTransport, RunsTheWireAheadUpToTheNextLocalEvent) {
  auto wire = std::make_unique<TimedTransport>(Time(10));
  const TimedTransport& on_wire = *wire;
  SplitTransport transport(std::move(wire), std::make_unique<TimedTransport>(Time(50)));
  EXPECT_EQ(transport.run_ahead(Time(30)), Time(30));
  EXPECT_EQ(on_wire.next_event(), Time(30));
  EXPECT_EQ(transport.run_ahead(Time(80)), Time(50));
  EXPECT_EQ(on_wire.next_event(), Time(50));
}

TEST(SplitTransport, BothTakeTheHalvesOfATurn) {
  auto wire = std::make_unique<TimedTransport>(Time(10)), local = std::make_unique<TimedTransport>(Time(10));
  const TimedTransport &on_wire = *wire, &at_home = *local;
  SplitTransport transport(std::move(wire), std::move(local));
  std::array<Event, 4> events;
  EXPECT_EQ(transport.receive(Time(1), events), 2u);
  EXPECT_EQ(on_wire.receives() + at_home.receives(), 2);
  EXPECT_EQ(on_wire.transmits() + at_home.transmits(), 0);
  transport.send_due(Time(1));
  EXPECT_EQ(on_wire.transmits(), 1);
  EXPECT_EQ(at_home.transmits(), 1);
}

}  // namespace
}  // namespace rankwire
