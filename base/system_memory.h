// How much memory this process has, and how much more there is, as the system tells it.
#pragma once

#include <optional>

#include "base/units.h"

namespace rankwire {

/// Resident memory of this process; 0 where the system does not say.
Bytes resident_memory();
/// What the system could still give to processes (MemAvailable), or the control group of this one, if that is less.
/// Absent where the system does not say.
std::optional<Bytes> available_memory();

}  // namespace rankwire
