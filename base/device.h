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
};

}  // namespace rankwire
