// What gave computations their times, and what varied them on purpose.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// Of each side what `compute` of summary.json holds (docs/metrics.md); null for a side that is not there or has no
/// end.
nlohmann::ordered_json compute_json(const RunReader& record);
/// Lines of the summary that a person reads; empty when no node of the record took time.
std::string compute_text(const RunReader& record);
/// The same as tables; empty likewise.
std::string html_compute(const RunReader& record);

}  // namespace rankwire
