#include "emulator/engine/split_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/link_loads.h"
#include "base/modelled_part.h"

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

/// Reports what it has when it is asked, and keeps when messages were posted.
class ScriptedWire final : public Transport {
 public:
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    posted.push_back(now);
    return messages.size();
  }
  size_t poll(Time, std::span<Event> room) noexcept override {
    const size_t n = std::min(room.size(), events.size());
    std::copy_n(events.begin(), n, room.begin());
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
  }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return {}; }
  void close() noexcept override {}

  std::vector<Time> posted;
  std::vector<Event> events;
};

/// What it was told, as "+0 at 5".
class KeptLoads final : public LinkLoads {
 public:
  void begin_load(ConnectionId connection, Time now) noexcept override { keep('+', connection, now); }
  void end_load(ConnectionId connection, Time now) noexcept override { keep('-', connection, now); }
  void hold_loads(HeldSenders&) override { holds = true; }
  void settle(Time now) noexcept override { settled.push_back(now); }

  std::vector<std::string> told;
  std::vector<Time> settled;
  bool holds = false;

 private:
  void keep(char sign, ConnectionId connection, Time now) {
    told.push_back(sign + std::to_string(connection.value) + " at " + std::to_string(now.ps));
  }
};

/// Data on the wire, a clear-to-send on the wire, and what is modelled.
TransportPlan three_connections() {
  TransportPlan plan{.ranks = 3, .messages_in_flight = 8};
  for (uint32_t c = 0; c < 3; ++c)
    plan.connections.push_back({.id = ConnectionId(c),
                                .source = RankId(0),
                                .destination = RankId(1 + c / 2),
                                .path = c == 2 ? Path::kModelled : Path::kWire,
                                .control = c == 1});
  return plan;
}

TEST(SplitTransport, TellsAModelWhatIsUnderWayOnTheWire) {
  auto owned = std::make_unique<ScriptedWire>();
  ScriptedWire& wire = *owned;
  KeptLoads loads;
  SplitTransport transport(std::move(owned), std::make_unique<TimedTransport>(Time(50)), &loads);
  transport.prepare(three_connections());
  std::vector<Message> messages(4, Message{.connection = ConnectionId(0)});
  messages[1].connection = ConnectionId(1), messages[2].connection = ConnectionId(2);
  EXPECT_EQ(transport.post(Time(5), messages), 4u);  // the last one is the first one's connection's
  EXPECT_EQ(loads.told, (std::vector<std::string>{"+0 at 5", "+0 at 5"}));
  for (const EventKind kind : {EventKind::kReceived, EventKind::kSent, EventKind::kFailed}) {
    Event event;
    event.kind = kind, event.connection = ConnectionId(0), event.at_source = kind != EventKind::kReceived;
    wire.events.push_back(event);
  }
  Event of_control;
  of_control.kind = EventKind::kSent, of_control.connection = ConnectionId(1), of_control.at_source = true;
  wire.events.push_back(of_control);
  std::array<Event, 8> events;
  EXPECT_EQ(transport.poll(Time(9), events), 4u);
  EXPECT_EQ(loads.told, (std::vector<std::string>{"+0 at 5", "+0 at 5", "-0 at 9", "-0 at 9"}));
}

/// Before the wire sends what was posted, the model has said how fast it may.
TEST(SplitTransport, SettlesWhatWasPostedBeforeTheWireSends) {
  KeptLoads loads;
  SplitTransport transport(std::make_unique<ScriptedWire>(), std::make_unique<TimedTransport>(Time(50)), &loads);
  transport.prepare(three_connections());
  EXPECT_TRUE(loads.holds);
  std::array<Event, 8> events;
  transport.poll(Time(1), events);
  EXPECT_TRUE(loads.settled.empty());
  for (const uint32_t connection : {0u, 2u}) {
    const Message message{.connection = ConnectionId(connection)};
    transport.post(Time(2), {&message, 1});
  }
  transport.poll(Time(3), events);
  const Message message{.connection = ConnectionId(2)};
  transport.post(Time(4), {&message, 1});
  transport.send_due(Time(5));
  transport.send_due(Time(6));
  EXPECT_EQ(loads.settled, (std::vector<Time>{Time(3), Time(5)}));
}

/// The wire goes on while the model catches up, and what follows from the model leaves no earlier than that.
TEST(SplitTransport, TheWireGoesOnWhileTheModelCatchesUp) {
  auto owned = std::make_unique<ScriptedWire>();
  ScriptedWire& wire = *owned;
  Event waiting;
  waiting.connection = ConnectionId(0);
  wire.events.push_back(waiting);
  KeptLoads loads;
  SplitTransport transport(std::move(owned), std::make_unique<TimedTransport>(Time(50)), &loads);
  transport.prepare(three_connections());
  ModelledPart* const model = transport.modelled_part();
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->next_event(), Time(50));
  model->tend(Time(80));
  EXPECT_EQ(wire.events.size(), 1u) << "which the engine has not heard of";
  const Message message{.connection = ConnectionId(0)};
  transport.post(Time(60), {&message, 1});
  transport.post(Time(90), {&message, 1});
  EXPECT_EQ(wire.posted, (std::vector<Time>{Time(80), Time(90)}));
  EXPECT_EQ(loads.told, (std::vector<std::string>{"+0 at 60", "+0 at 90"}));
}

TEST(SplitTransport, HasNoModelledPartWhereOnlyLocalTrafficIs) {
  SplitTransport transport(std::make_unique<TimedTransport>(Time(10)), std::make_unique<TimedTransport>(Time(50)));
  EXPECT_EQ(transport.modelled_part(), nullptr);
}

}  // namespace
}  // namespace rankwire
