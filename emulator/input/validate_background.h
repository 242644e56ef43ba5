// What the items of `background` must fulfil beyond the syntax and range of each key.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Notes where each item is written.
void note_background_places(RunConfig& config, const Tree& root);

/// Throws Error(kInput) as `validate` does, also for a table of sizes that cannot be read. Whether two ends stand
/// behind one port, where they are hosts, only the placement shows.
void validate_background(const RunConfig& config, const Tree& root);

}  // namespace rankwire
