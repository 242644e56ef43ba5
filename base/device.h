// Something beside the transport that lives on the same clock, such as the embedded virtual switch.
#pragma once

#include "base/units.h"

namespace rankwire {

/// Driven either by the run loop (same core, or virtual time) or by a thread of its own in real time.
class Device {
 public:
  virtual ~Device() = default;
  /// Does what is due at `now` and returns whether anything was done.
  virtual bool step(Time now) noexcept = 0;
  /// When `step` next has something to do if nothing arrives.
  virtual Time next_event() const noexcept = 0;
  /// In virtual time, when nothing outside the device happens before `limit`: does what is due before then, and what is
  /// later and cannot be changed from outside any more. What comes of it outside, such as a frame for a host, it may
  /// hand out already, if that is held back there until its time. Returns the time before which nothing else comes of
  /// it, whatever happens outside from `limit` on; never() when nothing is left.
  virtual Time run_ahead([[maybe_unused]] Time limit) noexcept { return next_event(); }
};

}  // namespace rankwire
