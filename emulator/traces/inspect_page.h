// The page of an inspection: one file that opens offline.
#pragma once

#include <optional>
#include <string>

#include "emulator/traces/inspect.h"
#include "emulator/traces/trace_difference.h"

namespace rankwire {

/// With the difference to another set where there is one. All tables are bounded: 500 operations, communications and
/// differences, 256 ranks, 500 streams, 20 late calls; the JSON has the rest.
std::string inspection_html(const Inspection& inspection, const std::optional<TraceDifference>& difference);

}  // namespace rankwire
