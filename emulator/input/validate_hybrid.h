// What the key `hybrid` says about ports, and the rules that no single value of it can break.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Tells ports which of them nobody on a wire stands behind (PortConfig::modelled). Those are of no device: they have
/// the kind that the others have. Ports have their names.
void settle_hybrid(RunConfig& config);

/// Throws Error(kInput) naming file, line and key for hosts that there are not, and for what does not go with a run of
/// which part is modelled.
void validate_hybrid(const RunConfig& config, const Tree& root);

}  // namespace rankwire
