// What jobs that are called by their names are.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Gives the names in `impairments[].job` and `transport.congestion_control.exceptions[].job` their numbers. Throws
/// Error(kInput), naming file, line and key, for a name that neither a job nor an item of the background has, with the
/// nearest name, or all of them.
void settle_job_choices(RunConfig& config, const Tree& root);

}  // namespace rankwire
