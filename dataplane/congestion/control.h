// How much a queue pair may send: the contract of congestion control algorithms.
#pragma once

#include <cstdint>
#include <limits>

#include "base/units.h"

namespace rankwire {

/// What a queue pair may send now.
struct Allowance {
  static constexpr Bytes kUnlimited = Bytes(std::numeric_limits<int64_t>::max());

  Bandwidth rate;             ///< of all that its frames take on the line: FCS, preamble and gap count; > 0
  Bytes window = kUnlimited;  ///< of payload sent and not acknowledged

  bool operator==(const Allowance&) const = default;
};

/// The sending side of congestion control (a NIC's reaction point) for all queue pairs of a transport: a state machine
/// without I/O or clock. `queue_pair` is an index; `now` never decreases. State moves on when a queue pair is looked
/// at, so that one that is idle costs nothing. No allocation after construction; one thread.
class CongestionControl {
 public:
  virtual ~CongestionControl() = default;

  /// A congestion notification packet (CNP) has arrived.
  virtual void notified(uint32_t queue_pair, Time now) noexcept = 0;
  /// The peer has acknowledged `payload` more. `round_trip` is that of one of the packets, or max() where none was
  /// measured.
  virtual void acknowledged(uint32_t, Time, Bytes /*payload*/, Duration /*round_trip*/) noexcept {}
  /// Frames have been sent that take `on_line` there.
  virtual void sent(uint32_t, Time, Bytes /*on_line*/) noexcept {}
  /// A loss was noticed, by a NAK or a time-out, and packets will be sent again.
  virtual void rewound(uint32_t, Time) noexcept {}

  virtual Allowance allowance(uint32_t queue_pair, Time now) noexcept = 0;
  /// When the allowance next changes if nothing happens but that time passes; never() when it does not. As of the last
  /// look: the state is not moved on.
  virtual Time next_update(uint32_t) const noexcept { return Time::never(); }
  /// Whether notifications make a difference to the queue pair.
  virtual bool heeds_notifications(uint32_t) const noexcept { return true; }
};

}  // namespace rankwire
