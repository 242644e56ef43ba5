// Contradictions of congestion control.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput), naming file, line and key, for keys of `transport.congestion_control` that contradict each
/// other or the rest of the configuration.
void validate_congestion(const RunConfig& config, const Tree& root);

}  // namespace rankwire
