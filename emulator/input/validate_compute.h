// What `compute` must fulfil beyond the syntax and range of each key.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Gives `default` its meaning in `compute`, and notes where each item is written.
void settle_compute(RunConfig& config, const Tree& root);

/// Throws Error(kInput) for keys of `compute` that contradict each other, naming their place in `root`.
void validate_compute(const RunConfig& config, const Tree& root);

}  // namespace rankwire
