// Contradictions of `dilation`.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Throws Error(kInput), naming file, line and key, for ports whose time cannot be stretched, and for a device that
/// there is not. `config` has ports.
void validate_dilation(const RunConfig& config, const Tree& root);

}  // namespace rankwire
