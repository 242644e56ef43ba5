// A star network of ranks for the tests of the model: one port, NIC and host a rank, connections for every pair.
#pragma once

#include <algorithm>
#include <vector>

#include "emulator/simulator/network_model.h"

namespace rankwire {

inline constexpr Bandwidth kRate{100'000'000'000};  ///< 80 ps a byte
inline constexpr Duration kPortLatency = nanoseconds(100);
inline constexpr Duration kSwitchLatency = microseconds(1);
/// Of all links, one way: two port latencies and the switch.
inline constexpr Duration kOneWay = nanoseconds(1200);

class Star {
 public:
  explicit Star(uint32_t ranks, Path path = Path::kWire, uint32_t messages_in_flight = 4096, uint32_t channels = 1)
      : channels_(channels) {
    plan_.ranks = ranks;
    plan_.messages_in_flight = messages_in_flight;
    for (uint32_t r = 0; r < ranks; ++r) {
      Nic nic;
      nic.id = NicId(r);
      nic.port = PortId(r);
      plan_.nics.push_back(nic);
    }
    for (uint32_t s = 0; s < ranks; ++s)
      for (uint32_t d = 0; d < ranks; ++d) {
        if (s == d) continue;
        for (uint32_t channel = 0; channel < channels; ++channel) {
          Connection connection;
          connection.id = ConnectionId(static_cast<uint32_t>(plan_.connections.size()));
          connection.source = RankId(s), connection.destination = RankId(d);
          connection.source_nic = NicId(s), connection.destination_nic = NicId(d);
          connection.path = path;
          connection.channel = static_cast<uint8_t>(channel);
          plan_.connections.push_back(connection);
        }
      }
  }

  const TransportPlan& plan() const { return plan_; }
  /// The connection from one rank to another: rows of (ranks - 1) destinations.
  ConnectionId connection(uint32_t source, uint32_t destination, uint32_t channel = 0) const {
    const uint32_t pair = source * (plan_.ranks - 1) + destination - (destination > source ? 1 : 0);
    return ConnectionId(pair * channels_ + channel);
  }
  static Framing framing() { return rocev2_framing(Bytes(4096)); }
  Network network() const {
    StarOptions options;
    options.port_bandwidth.assign(plan_.ranks, kRate);
    options.port_latency = kPortLatency;
    options.switch_latency = kSwitchLatency;
    options.framing = framing();
    options.local_bandwidth = Bandwidth(800'000'000'000);
    options.local_latency = nanoseconds(500);
    return star_network(options, plan_);
  }
  Message message(uint32_t source, uint32_t destination, Bytes bytes, uint32_t index = 0, uint32_t channel = 0) const {
    Message message;
    message.id.source = source;
    message.id.destination = destination;
    message.id.sequence = index;
    message.bytes = bytes;
    message.connection = connection(source, destination, channel);
    message.index = index;
    return message;
  }

 private:
  uint32_t channels_;
  TransportPlan plan_;
};

/// Polls from event to event until nothing is left to happen, as a virtual clock would; all events in order.
inline std::vector<Event> drain(NetworkModel& model, Time now = Time()) {
  std::vector<Event> events;
  Event batch[16];
  for (;;) {
    const size_t n = model.poll(now, batch);
    events.insert(events.end(), batch, batch + n);
    if (n > 0) continue;
    if (model.next_event() == Time::never()) return events;
    now = model.next_event();
  }
}

inline std::vector<Event> of_kind(const std::vector<Event>& events, EventKind kind) {
  std::vector<Event> result;
  std::copy_if(events.begin(), events.end(), std::back_inserter(result),
               [&](const Event& e) { return e.kind == kind; });
  return result;
}

}  // namespace rankwire
