// What a configuration must fulfil beyond the syntax and range of each key.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput) for a required key that is absent and for keys that contradict each other, naming the place in
/// `root`, from which `config` was read.
void validate(const RunConfig& config, const Tree& root);

/// The same for `fabric`, when there is one; part of the above.
void validate_fabric(const RunConfig& config, const Tree& root);

}  // namespace rankwire
