// The buffer of a slow receiver, imagined: it fills with what arrives, drains at a rate of its own, and asks for a
// pause before it is full, as a NIC does that cannot put packets into memory at line rate.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "dataplane/wire/pause.h"

namespace rankwire {

struct ReceiveBufferOptions {
  Bandwidth drain_rate;  ///< > 0, of frame bytes without FCS
  Bytes size;            ///< what arrives and does not fit is lost
  Bytes xoff, xon;       ///< fuller than `xoff`: pause; not fuller than `xon`: go on. 0 <= xon < xoff <= size
};

/// A state machine without I/O and clock. How full it is follows from the time at which it would be empty, so nothing
/// is rounded from frame to frame but the line time of each, up to the picosecond. One thread.
class ReceiveBuffer {
 public:
  /// `line_rate`: of the line whose far end is paused, > 0.
  ReceiveBuffer(const ReceiveBufferOptions& options, Bandwidth line_rate)
      : drain_rate_(options.drain_rate),
        size_(serialization_time(options.size, drain_rate_)),
        xoff_(serialization_time(options.xoff, drain_rate_)),
        xon_(serialization_time(options.xon, drain_rate_)),
        refresh_interval_(Duration(pause_time(kMaxQuanta, line_rate).ps / 2)) {}

  /// A frame of `length` bytes arrives at `arrival`. False, and nothing has changed, when it does not fit.
  bool take(uint32_t length, Time arrival) noexcept {
    const Time empty = std::max(empty_at_, arrival) + serialization_time(Bytes(length), drain_rate_);
    if (empty - arrival > size_) return false;
    empty_at_ = empty;
    if (!pausing_ && empty - arrival > xoff_) {
      pausing_ = true;
      pause_due_ = Time::long_ago();
    }
    return true;
  }

  /// When a PFC frame is to be sent: long_ago() for a pause that begins, then in time before it expires, and when the
  /// far end may go on; never() while it may send.
  Time pause_due() const noexcept { return pausing_ ? std::min(pause_due_, empty_at_ - xon_) : Time::never(); }
  /// The quanta of the frame that is due at `now` and sent now.
  uint16_t take_pause(Time now) noexcept {
    pausing_ = empty_at_ - xon_ > now;
    if (!pausing_) return 0;
    pause_due_ = now + refresh_interval_;
    return kMaxQuanta;
  }

 private:
  Bandwidth drain_rate_;
  Duration size_, xoff_, xon_;  // the time that so many bytes take to drain
  Duration refresh_interval_;
  Time empty_at_ = Time::long_ago();
  Time pause_due_ = Time::never();
  bool pausing_ = false;
};

}  // namespace rankwire
