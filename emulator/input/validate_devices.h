// What of `device_counters` contradicts itself or other keys.
#pragma once

#include "emulator/input/validation_source.h"

namespace rankwire {

/// Throws Error(kInput) at the place of the key.
void validate_device_counters(const RunConfig& config, const Tree& root);

}  // namespace rankwire
