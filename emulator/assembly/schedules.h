// How the collectives of a run, and of each job, become messages.
#pragma once

#include "emulator/assembly/setup.h"

namespace rankwire {

/// Sets `schedules`, `own_schedules` and `schedules_of_job` from the configuration. Throws Error(kInput) naming a file
/// that describes no algorithm.
void choose_schedules(Setup& setup);

/// Of groups that a described algorithm is not for, since a description is for groups of one size. Schedules have been
/// chosen.
void warn_of_other_groups(Setup& setup);

}  // namespace rankwire
