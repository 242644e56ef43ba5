// The keys of `compute` applied to a workload.
#pragma once

#include <memory>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Gives durations to the nodes that take them from a model, also to those that are still to be read. Needs the
/// configuration, the workload and the placement of the set-up. Throws Error(kInput) for ranks, hosts and groups that
/// are not there, a table of kernels that is wrong, and a data type in which a device does not compute.
void apply_compute_model(Setup& setup);

/// Jitter, noise and stragglers of all ranks; null when there are none. Throws in the same way.
std::unique_ptr<NodeVariation> make_variation(const Setup& setup);
/// Every straggler, rank by rank.
std::vector<StragglerRow> straggler_rows(const Setup& setup);

}  // namespace rankwire
