// The configuration's limits as the record keeps them.
#pragma once

#include <vector>

#include "emulator/input/limits_config.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Those that are set, in the order of the keys.
std::vector<LimitInfo> limit_infos(const LimitsConfig& limits);

}  // namespace rankwire
