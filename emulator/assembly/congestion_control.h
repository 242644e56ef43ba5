// What the configuration's `transport.congestion_control` becomes.
#pragma once

#include <vector>

#include "dataplane/roce/options.h"
#include "emulator/assembly/setup.h"
#include "emulator/input/config.h"

namespace rankwire {

/// Gives the keys of `transport.congestion_control`, of the run and of its jobs, that are absent the preset's values,
/// so that the resolved configuration says them all; a preset that scales with the line rate takes the fastest port's.
/// The profile has been applied. Throws Error(kInput) when the algorithm needs marks and the profile's packets are not
/// ECN-capable.
void apply_congestion_preset(RunConfig& config);

/// Once the preset has been applied.
CongestionOptions congestion_options(const CongestionConfig& control);

/// The configured ones, and behind them those of jobs with congestion control of their own. Once the plan has been
/// made. Throws Error(kInput) for a job or process group that there is not.
std::vector<CongestionException> congestion_exceptions(const Setup& setup);

}  // namespace rankwire
