// Values that must be within bounds.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace rankwire {

/// Throws Error(kInput) when `value` is out of its bounds. `what` names it, as "the DSCP" does.
inline void check_range(const char* what, uint64_t value, uint64_t least, uint64_t most) {
  if (value < least || value > most) fail_input("{} is {}; it must be {} to {}", what, value, least, most);
}

}  // namespace rankwire
