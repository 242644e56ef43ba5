// How long each of several jobs would take without the others.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "emulator/assembly/flow_run.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// The model of `simulation.fidelity` that is asked: the first that the engine runs without packets, else `flow`.
SimulationFidelity alone_model(const RunConfig& config);

/// Whether more is to be known of the jobs than what they do together.
bool has_failures(const RunConfig& config);

struct JobsAlone {
  std::vector<JobAlone> jobs;
  std::exception_ptr error;  ///< what the first of the runs that threw did; null: none has
};

/// Runs each job that began in `together` by itself, in virtual time: over the same plan and network, from the time at
/// which it began there, so that it has the same places, paths, cables and slow-downs. A job is left out that does not
/// end well. `variant` is that of all of them, if the model is `flow`; of the others its variation counts. Where cables
/// fail, runs all together without that, too, if the model is `flow`; the others know no cables. Up to `threads` of
/// these runs go on at a time, with the same result. One that throws holds up no other. Ends with what it has when
/// `control` ends it.
JobsAlone run_jobs_alone(const Setup& setup, SimulationFidelity model, std::span<const JobSpan> together,
                         const FlowVariant& variant, uint32_t threads, const RunControl& control);

}  // namespace rankwire
