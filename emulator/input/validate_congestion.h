// Contradictions of congestion control.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput), naming file, line and key, for keys of `transport.congestion_control` that contradict each
/// other or the rest of the configuration.
void validate_congestion(const RunConfig& config, const Tree& root);

/// Remembers where each exception stands, for errors that are found later (CongestionExceptionConfig::place).
void place_congestion(RunConfig& config, const Tree& root);

}  // namespace rankwire
