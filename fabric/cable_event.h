// When cables fail, get worse and come back.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rankwire {

/// What a cable is like, in both directions.
struct CableCondition {
  bool up = true;                 ///< down: what is queued for it or on it is lost
  std::optional<Bandwidth> rate;  ///< > 0; absent, or above the cable's own: that
  Duration latency;               ///< >= 0, beyond the cable's own
  uint32_t loss_ppm = 0;          ///< of frames, at random; 0 .. 10^6

  bool operator==(const CableCondition&) const = default;
};

inline constexpr CableCondition kWholeCable{}, kDownCable{.up = false};

/// From a run time >= 0 on a cable is in this condition.
struct CableEvent {
  Time at;
  uint32_t cable = 0;  ///< number, see Topology; behind the last of them that of host 0, and so on
  CableCondition condition = kDownCable;
};

}  // namespace rankwire
