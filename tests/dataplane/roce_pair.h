// Two RoCE transports, each with one port and one NIC, joined by an impaired link in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dataplane/frame_pool.h"
#include "dataplane/memory_port.h"
#include "dataplane/roce_transport.h"
#include "tests/dataplane/impaired_port.h"

namespace rankwire::testing {

/// Connections 0 .. n-1 lead from a to b, n .. 2n-1 from b to a.
class RocePair {
 public:
  static constexpr uint32_t kMessagesInFlight = 256;

  RocePair(const RoceOptions& options, const Impairments& impairments, uint32_t connections_each_way = 1)
      : links_(make_memory_link(pool_, 1024, "link")),
        port_a_(*links_.first, impairments),
        port_b_(*links_.second, other_seed(impairments)),
        a_(options, {{PortId(0), &port_a_, impairments.rate}}),
        b_(options, {{PortId(1), &port_b_, impairments.rate}}) {
    plan_.messages_in_flight = kMessagesInFlight;
    plan_.nics = {nic(0), nic(1)};
    for (uint32_t i = 0; i < 2 * connections_each_way; ++i) {
      const uint32_t source = i < connections_each_way ? 0 : 1;
      Connection connection;
      connection.id = ConnectionId(i);
      connection.source_nic = NicId(source);
      connection.destination_nic = NicId(1 - source);
      connection.largest_message = Bytes(1 << 20);
      plan_.connections.push_back(connection);
    }
    ends_ = a_.prepare(plan_);
    std::ranges::copy(b_.prepare(plan_), std::back_inserter(ends_));
  }
  ~RocePair() {
    a_.close();
    b_.close();
  }

  void connect() {
    ASSERT_TRUE(a_.connect(ends_).empty());
    ASSERT_TRUE(b_.connect(ends_).empty());
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
    RoceTransport& source = plan_.connections[message.connection.value].source_nic == NicId(0) ? a_ : b_;
    ASSERT_EQ(source.post(now_, {&message, 1}), 1u);
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
  std::vector<EndPoint>& ends() { return ends_; }
  FramePool& pool() { return pool_; }
  Time now() const { return now_; }
  void set_now(Time now) { now_ = now; }

 private:
  static Nic nic(uint32_t i) {
    return {.id = NicId(i),
            .port = PortId(i),
            .mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}},
            .ip = Ipv4Address{0xC6120001 + i},
            .prefix_length = 15};
  }
  static Impairments other_seed(Impairments impairments) {
    impairments.seed = ~impairments.seed;
    return impairments;
  }
  void poll(RoceTransport& transport) {
    Event batch[16];
    const size_t n = transport.poll(now_, batch);
    events_.insert(events_.end(), batch, batch + n);
  }

  FramePool pool_{4096};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_;
  ImpairedPort port_a_, port_b_;
  RoceTransport a_, b_;
  TransportPlan plan_;
  std::vector<EndPoint> ends_;
  std::vector<Event> events_;
  Time now_;
};

}  // namespace rankwire::testing
