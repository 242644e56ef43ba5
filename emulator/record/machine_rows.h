// What a record says of the machines of a run over several.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "emulator/record/record_part.h"

namespace rankwire {

/// Of the run with this number of the record in the folder: in their order, the one that led first, without
/// RecordPart::file. None where there is one machine. Throws Error(kInput) when there is no record to be read.
std::vector<RecordPart> read_machines(const std::filesystem::path& folder, uint32_t run);

}  // namespace rankwire
