// What can be known of impairments before the workload is loaded.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Remembers where the keys of each item stand, for errors that are found later (ImpairmentConfig::places).
void place_impairments(RunConfig& config, const Tree& root);

/// Throws Error(kInput), naming file, line and key, for keys that contradict each other or that ports cannot obey.
void validate_impairments(const RunConfig& config, const Tree& root);

}  // namespace rankwire
