// What the jobs of a configuration must fulfil among themselves and beside the other keys.
#pragma once

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Says where each job stands, for errors that only its workload shows.
void note_job_places(RunConfig& config, const Tree& root);

/// Throws Error(kInput) for a list without jobs or with too many, jobs beside `workload`, names that are missing, taken
/// or unknown, jobs that follow each other in a circle or would begin after `run.deadline`, hosts that are not there,
/// and keys that contradict others.
/// What each job's `workload` and `mapping` must fulfil by themselves is not looked at.
void validate_jobs(const RunConfig& config, const Tree& root);

}  // namespace rankwire
