// The configuration's limits as the record keeps them.
#pragma once

#include <vector>

#include "emulator/input/config.h"
#include "emulator/input/limits_config.h"
#include "emulator/record/run_record.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Those that are set, in the order of the keys.
std::vector<LimitInfo> limit_infos(const LimitsConfig& limits);

/// Throws Error(kInput), with the key's place, for a limit of operations that no rank carries out: it could not be
/// kept.
void require_limited_operations(const RunConfig& config, const Workload& workload);

}  // namespace rankwire
