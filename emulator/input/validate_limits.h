// Contradictions of `limits`.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput), naming file, line and key, for a limit of what the configuration does not measure.
void validate_limits(const RunConfig& config, const Tree& root);

}  // namespace rankwire
