// A run over several machines: how each of them fared, and how well their clocks are known.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"
#include "emulator/record/record_part.h"

namespace rankwire {

/// By how much a time from one machine to another may be wrong: the largest of two machines' errors together, the
/// first one's clock being the measure. 0 where the run has one machine.
Duration clock_error(const std::vector<RecordPart>& machines);

/// `machines` of summary.json: a list, empty where there is one.
nlohmann::ordered_json machines_json(const RunReader& record);

/// Lines of the printed summary and of the page; none where there is one.
std::vector<std::string> machine_lines(const RunReader& record);

}  // namespace rankwire
