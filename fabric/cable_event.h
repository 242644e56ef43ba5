// When cables fail and come back.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

enum class CableState : uint8_t { kDown, kUp };

/// A cable changes at a run time >= 0; what is queued for it or on it when it goes down is lost.
struct CableEvent {
  Time at;
  uint32_t cable = 0;  ///< number, see Topology; behind the last of them that of host 0, and so on
  CableState state = CableState::kDown;
};

}  // namespace rankwire
