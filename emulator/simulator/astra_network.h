// Delays of messages as ASTRA-sim's analytical network has them, with and without congestion.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_model.h"

namespace rankwire {

/// Without congestion: a message takes latency x hops + bytes / bandwidth, in the lowest dimension in which its ends
/// differ (the others cost nothing). Hops are the shorter way of a ring, 2 through a switch, 1 in a full mesh.
class AstraDelays {
 public:
  explicit AstraDelays(const AstraNetwork& network);

  /// Between different NPUs.
  Duration delay(uint32_t source, uint32_t destination, Bytes bytes) const noexcept;

 private:
  struct Dimension {
    AstraBlock block;
    uint32_t npus, stride;
    double latency, bytes_per_ns;
  };
  std::vector<Dimension> dimensions_;
};

/// With congestion, over one dimension: messages are stored and forwarded, first come first served on each directed
/// link. A link is taken for bytes / bandwidth, and latency + bytes / bandwidth later the message is at its other end.
class AstraLinks {
 public:
  explicit AstraLinks(const AstraDimension& dimension);

  struct Hop {
    uint32_t device = 0;  ///< where the message is next: an NPU, or the switch, which is number `npus`
    Time arrival;
  };
  /// Sends a message that is at `device` at `now` on towards `destination`. Calls come in the order of time.
  Hop forward(uint32_t device, uint32_t destination, Bytes bytes, Time now) noexcept;

 private:
  struct Step {
    uint32_t link = 0, device = 0;
  };
  Step step(uint32_t device, uint32_t destination) const noexcept;

  AstraDimension dimension_;
  double bytes_per_ns_;
  std::vector<Time> free_at_;  // by link
};

}  // namespace rankwire
