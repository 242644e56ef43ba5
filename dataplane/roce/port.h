// A port of RoceTransport.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/id.h"
#include "base/units.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/receive_buffer.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

/// A port of the plan, whatever the number of its queues. Its transport's own, in that thread.
struct alignas(64) RocePort {
  RocePort(const PortBinding& first, uint32_t lane, Bandwidth line_rate, const NeighbourOptions& options,
           std::span<const Nic> nics)
      : pauses(line_rate), id(first.id), first_lane(lane), neighbours(options, nics) {
    if (!nics.empty()) station = nics.front().mac;
    if (first.receive_buffer) buffer = std::make_unique<ReceiveBuffer>(*first.receive_buffer, line_rate);
  }

  PauseTimers pauses;  ///< what the far end of the line has paused
  // What every turn looks at is in one cache line: the end of `pauses`, and of `neighbours` the beginning.
  PortId id;
  uint32_t first_lane;
  std::unique_ptr<ReceiveBuffer> buffer;  ///< of a slow receiver
  Neighbours neighbours;
  MacAddress station;  ///< that pauses come from
  uint64_t pause_tx = 0, pause_rx = 0, buffer_drops = 0, icrc_errors = 0;
};
// PauseTimers ends with a time, and Neighbours begins with one.
static_assert(sizeof(PauseTimers) % 64 >= sizeof(Time));
static_assert(sizeof(PauseTimers) % 64 + sizeof(PortId) + sizeof(uint32_t) + sizeof(void*) + sizeof(Time) <= 64);

}  // namespace rankwire
