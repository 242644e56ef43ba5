// Emulated runs of a sweep in one process, one after the other over ports that stay open.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "emulator/cli/point_runs.h"

namespace rankwire {

/// Why these cannot be: DPDK can be started once in a process, and would have to be started in different ways. Empty:
/// they can. Throws Error(kInput) as load_config does.
std::string obstacle_to_one_process(const std::vector<PointRun>& runs);

/// Runs them as `run_points` says, and returns how many have had their turn. Those behind are left where DPDK did not
/// start, which it then does in no run of this process. A run that ends by an error has its ports closed: the next one
/// opens them anew.
size_t run_points_in_turn(const PointRunOptions& options, const std::vector<PointRun>& runs);

}  // namespace rankwire
