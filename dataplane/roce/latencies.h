// What the NICs behind each port measure of the network's latency.
#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.h"
#include "base/large_memory.h"
#include "base/transport.h"
#include "base/units.h"

namespace rankwire {

/// Histograms by port, picoseconds. Its transport's own, in that thread. No allocation after construction.
class Latencies {
 public:
  /// Of the messages whose ends are both here one in so many is measured: to find its sender's state costs more than
  /// most packets do.
  static constexpr uint32_t kOneWayStride = 8;

  explicit Latencies(size_t ports = 0) : round_trips_(ports), one_ways_(ports) {}

  void add_round_trip(uint32_t port, Duration round_trip) noexcept { round_trips_[port].add(round_trip); }
  /// Whether the next message is one of those that are measured.
  bool take_turn() noexcept { return turn_++ % kOneWayStride == 0; }
  /// The last packet of a message was sent last at `last_tx` and arrived at `arrival`. Not counted when it left later
  /// than it arrived: then the copy that arrived was sent before the last one, and when is not known; nor when none was
  /// sent, long_ago().
  void add_one_way(uint32_t port, Time last_tx, Time arrival) noexcept {
    if (last_tx != Time::long_ago() && last_tx <= arrival) one_ways_[port].add(arrival - last_tx);
  }

  /// Adds the port's two histograms, which are borrowed, under its name in the plan.
  void append_to(std::vector<PortLatency>& latencies, uint32_t port, PortId id) const {
    latencies.push_back({id, LatencyKind::kRoundTrip, &round_trips_[port]});
    latencies.push_back({id, LatencyKind::kOneWay, &one_ways_[port]});
  }

 private:
  LargeVector<Histogram> round_trips_, one_ways_;
  uint32_t turn_ = 0;
};

}  // namespace rankwire
