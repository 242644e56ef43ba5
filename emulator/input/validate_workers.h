// Contradictions of `workers` and `run.repeat`.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput), naming file, line and key, for keys of `workers`, and `run.repeat`, that contradict each other
/// or the rest of the configuration, which has ports.
void validate_workers(const RunConfig& config, const Tree& root);

}  // namespace rankwire
