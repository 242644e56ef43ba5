// The report's table of ranks.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/picture.h"

namespace rankwire {

/// The 16 ranks with the most extra time, or the first 16 where the sides cannot be compared: when each ended, and how
/// long it computed and communicated. Empty without ranks.
std::string html_ranks(const RunReader& record, const RecordActivity& activity);

}  // namespace rankwire
