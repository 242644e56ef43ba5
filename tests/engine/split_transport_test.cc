#include "emulator/engine/split_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  Time next_event() const noexcept override { return next_; }
  Time run_ahead(Time limit) noexcept override { return next_ = std::max(next_, limit); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return {}; }
  void close() noexcept override {}

 private:
  Time next_;
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

}  // namespace
}  // namespace rankwire
