// The sending side of one port: frames in hand, the line's schedule, and who wants to send.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/id.h"
#include "base/units.h"
#include "dataplane/frame_port.h"
#include "dataplane/index_queue.h"
#include "dataplane/pacer.h"

namespace rankwire {

/// Owned by one transport and used by its thread. No allocation after construction. A frame that the port refuses stays
/// here and is offered again before any other, so order is kept and nothing is lost.
class TransmitLane {
 public:
  static constexpr uint32_t kBurst = 32;
  /// Packets that a queue pair sends in a row before the next has its turn: a visit costs more than a packet.
  static constexpr uint32_t kRun = 4;

  TransmitLane(PortId id, FramePort& port, const Pacer& pacer, uint32_t sources, uint32_t destinations)
      : senders(sources),
        repliers(destinations),
        id_(id),
        port_(&port),
        pacer_(pacer),
        capabilities_(port.capabilities()) {}

  IndexQueue senders;   ///< source queue pairs that may send, in the order of their turns
  IndexQueue repliers;  ///< destination queue pairs that owe an answer
  uint32_t run = 0;     ///< packets that the first of `senders` has sent in this turn

  PortId id() const noexcept { return id_; }
  FramePort& port() const noexcept { return *port_; }
  const FramePort::Capabilities& capabilities() const noexcept { return capabilities_; }
  const Pacer& pacer() const noexcept { return pacer_; }
  bool has_work() const noexcept { return !senders.empty() || !repliers.empty(); }

  /// Begins the transmissions of `now`. False when frames from before still wait for the port.
  bool begin(Time now) noexcept;
  /// An empty frame to be filled and given to `stage`, or null: no slot is due, the burst is full or the pool is empty.
  Frame* next_frame(Time now) noexcept;
  /// The frame from `next_frame` is complete and takes its slot.
  void stage() noexcept;
  /// Hands what is staged to the port.
  void finish(Time now) noexcept;

  /// When there is something to do here: never() without work; after `now` once `finish(now)` has done what was due,
  /// unless the burst was full.
  Time wake() const noexcept;
  /// Gives all frames back to the port.
  void close() noexcept;

 private:
  bool flush(Time now) noexcept;
  void reschedule(Time now, std::span<const Frame> frames) noexcept;
  void block(Time now, uint32_t length) noexcept;

  PortId id_;
  FramePort* port_;
  Pacer pacer_;
  FramePort::Capabilities capabilities_;
  bool was_busy_ = false;  // there was work when the last transmissions ended, and the port took frames
  bool refused_ = false;   // the port left frames in staged_
  Time blocked_until_;
  uint32_t staged_begin_ = 0, staged_end_ = 0;  // of staged_, not yet taken by the port
  uint32_t spare_count_ = 0;
  std::array<Frame, kBurst> staged_;
  std::array<Frame, kBurst> spare_;  // allocated and empty
};

}  // namespace rankwire
