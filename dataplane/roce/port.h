// A port of the plan, as a RoCEv2 transport uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/receive_buffer.h"
#include "dataplane/wire/frame.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

/// A port of the plan, whatever the number of its queues. Its transport's own, in that thread.
struct alignas(64) RocePort {
  RocePort(const PortBinding& first, uint32_t lane, Bandwidth line_rate, const NeighbourOptions& options,
           std::span<const Nic> nics)
      : pauses(line_rate), id(first.id), first_lane(lane), neighbours(options, nics) {
    obeys_pauses = first.pause == PauseMode::kSoftware;
    if (!nics.empty()) station = nics.front().mac;
    if (first.receive_buffer) buffer = std::make_unique<ReceiveBuffer>(*first.receive_buffer, line_rate);
  }

  /// Takes the frame if it is PAUSE or PFC. False when it is neither.
  bool accept_pause(const Frame& frame) noexcept;
  /// Moves the frames that the port's slow receiver has room for to the front and returns their number. Only with
  /// `buffer`.
  size_t keep_in_buffer(std::span<Frame> frames) noexcept;
  /// Adds what is known here to what the device itself has counted.
  void add_pauses(PortCounters& counters, Time now) const;

  PauseTimers pauses;  ///< what the far end of the line has paused
  // What every turn looks at is in one cache line: the end of `pauses`, and of `neighbours` the beginning.
  PortId id;
  uint32_t first_lane;
  std::unique_ptr<ReceiveBuffer> buffer;  ///< of a slow receiver
  Neighbours neighbours;
  MacAddress station;  ///< that pauses come from
  bool obeys_pauses = false;
  uint64_t pause_tx = 0, pause_rx = 0, buffer_drops = 0, icrc_errors = 0;
};
// PauseTimers ends with a time, and Neighbours begins with one.
static_assert(sizeof(PauseTimers) % 64 >= sizeof(Time));
static_assert(sizeof(PauseTimers) % 64 + sizeof(PortId) + sizeof(uint32_t) + sizeof(void*) + sizeof(Time) <= 64);

}  // namespace rankwire
