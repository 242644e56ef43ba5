// What NCCL itself writes of a job to Chakra: logs of NCCL and RCCL, and records of NCCL's inspector. There is
// communication alone: nothing is known of the work between calls, so each call follows the one before it on its stream
// at once.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "converters/conversion.h"
#include "converters/missing_ranks.h"

namespace rankwire {

/// Reads files of either kind, told apart by content, in any order and division: a file may be of one rank or of many.
/// Writes a trace for each rank and completes the ranks (see complete_ranks). Throws Error(kInput) naming file and
/// line.
Conversion convert_nccl(const std::vector<std::string>& files, const std::filesystem::path& folder,
                        ConversionProgress& progress, const FillOptions& options = {});

}  // namespace rankwire
