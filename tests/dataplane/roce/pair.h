// Two RoCE transports, each with one port and one NIC, joined by an impaired link in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/transport.h"
#include "tests/dataplane/roce/impaired_port.h"

namespace rankwire::testing {

/// A plan for a RocePair: NIC 0 stands behind a, NIC 1 behind b. Connections 0 .. n-1 lead from a to b, n .. 2n-1 from
/// b to a.
inline TransportPlan pair_plan(uint32_t connections_each_way = 1) {
  TransportPlan plan;
  plan.messages_in_flight = 256;
  for (uint32_t i = 0; i < 2; ++i)
    plan.nics.push_back({.id = NicId(i),
                         .port = PortId(i),
                         .mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}},
                         .ip = Ipv4Address{0xC6120001 + i},
                         .prefix_length = 15});
  for (uint32_t i = 0; i < 2 * connections_each_way; ++i) {
    const uint32_t source = i < connections_each_way ? 0 : 1;
    Connection connection;
    connection.id = ConnectionId(i);
    connection.source_nic = NicId(source);
    connection.destination_nic = NicId(1 - source);
    connection.largest_message = Bytes(1 << 20);
    plan.connections.push_back(connection);
  }
  return plan;
}

/// The key that a payload of so many bytes shows of a message: its first min(8, bytes) bytes.
inline uint64_t visible_key(const Message& message) {
  const uint64_t key = payload_key(message.id);
  return message.bytes.count >= 8 ? key : key & ((uint64_t{1} << (8 * message.bytes.count)) - 1);
}

class RocePair {
 public:
  static constexpr uint32_t kMessagesInFlight = 256;

  RocePair(const RoceOptions& options, const Impairments& impairments, uint32_t connections_each_way = 1)
      : RocePair(options, impairments, pair_plan(connections_each_way)) {}
  /// `pauses` holds for both ports; b may be a slow receiver.
  RocePair(const RoceOptions& options, const Impairments& impairments, const TransportPlan& plan,
           PauseMode pauses = PauseMode::kSoftware, std::optional<ReceiveBufferOptions> b_buffer = std::nullopt)
      : links_(make_memory_link(pool_, 1024, "link")),
        port_a_(*links_.first, impairments),
        port_b_(*links_.second, other_seed(impairments)),
        a_(options, {{PortId(0), &port_a_, impairments.rate, pauses}}),
        b_(options, {{PortId(1), &port_b_, impairments.rate, pauses, b_buffer}}),
        plan_(plan) {
    ends_ = a_.prepare(plan_);
    std::ranges::copy(b_.prepare(plan_), std::back_inserter(ends_));
  }
  ~RocePair() {
    a_.close();
    b_.close();
  }

  /// Everything is over by time 0: next hops are known, announcements have arrived.
  void connect() {
    ASSERT_TRUE(a_.connect(ends_).empty());
    ASSERT_TRUE(b_.connect(ends_).empty());
    now_ = Time() - seconds(100);
    run_until();
    ASSERT_LT(now_, Time());
    now_ = Time();
    run_until();
  }

  static Message message(uint32_t connection, uint32_t index, int64_t bytes) {
    Message result;
    result.id.source = connection;
    result.id.sequence = index;
    result.bytes = Bytes(bytes);
    result.connection = ConnectionId(connection);
    result.index = index;
    return result;
  }
  void post(const Message& message) {
    const NicId nic = plan_.connections[message.connection.value].source_nic;
    RoceTransport& source = plan_.nics[nic.value].port == PortId(0) ? a_ : b_;
    ASSERT_EQ(source.post(now_, {&message, 1}), 1u);
  }

  /// One of the transport's details; 0 when it is not among them.
  static uint64_t detail(const RoceTransport& transport, std::string_view name) {
    for (const NamedCounter& counter : transport.details())
      if (counter.name == name) return counter.value;
    return 0;
  }

  /// Polls both sides at every event until none is left or `end` has passed.
  void run_until(Time end = Time::never()) {
    uint32_t polls_at_this_time = 0;
    while (true) {
      poll(a_);
      poll(b_);
      const Time next = std::min(a_.next_event(), b_.next_event());
      if (next == Time::never() || next > end) return;
      polls_at_this_time = next > now_ ? 0 : polls_at_this_time + 1;
      ASSERT_LT(polls_at_this_time, 10'000u) << "time stands still at " << now_.ps << " ps";
      now_ = std::max(now_, next);
    }
  }

  std::vector<Event> events(EventKind kind) const {
    std::vector<Event> chosen;
    std::ranges::copy_if(events_, std::back_inserter(chosen), [&](const Event& e) { return e.kind == kind; });
    return chosen;
  }

  RoceTransport& a() { return a_; }
  RoceTransport& b() { return b_; }
  ImpairedPort& port_a() { return port_a_; }
  ImpairedPort& port_b() { return port_b_; }
  const TransportPlan& plan() const { return plan_; }
  std::vector<EndPoint>& ends() { return ends_; }
  FramePool& pool() { return pool_; }
  Time now() const { return now_; }
  void set_now(Time now) { now_ = now; }
  void forget_events() { events_.clear(); }

 private:
  static Impairments other_seed(Impairments impairments) {
    impairments.seed = ~impairments.seed;
    return impairments;
  }
  void poll(RoceTransport& transport) {
    Event batch[16];
    const size_t n = transport.poll(now_, batch);
    for (Event& event : std::span(batch, n))
      if (event.causes != nullptr) event.causes = &causes_.emplace_back(*event.causes);
    events_.insert(events_.end(), batch, batch + n);
  }

  FramePool pool_{4096};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_;
  ImpairedPort port_a_, port_b_;
  RoceTransport a_, b_;
  TransportPlan plan_;
  std::vector<EndPoint> ends_;
  std::vector<Event> events_;
  std::deque<TimeByCause> causes_;  // of the events
  Time now_;
};

}  // namespace rankwire::testing
