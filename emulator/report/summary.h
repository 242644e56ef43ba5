// The summary of a record, `summary.json`.
#pragma once

#include <nlohmann/json.hpp>

#include "emulator/record/reader.h"
#include "emulator/report/figures.h"

namespace rankwire {

/// The object of `summary.json`. Absent values are null. Fields are described in docs/metrics.md. The first form reads
/// what the second is given.
nlohmann::ordered_json summary(const RunReader& record);
nlohmann::ordered_json summary(const RunReader& record, const RecordFigures& figures);

/// The names that every summary has: 0 stands for a single value, null for whatever depends on the run.
nlohmann::ordered_json summary_shape();

}  // namespace rankwire
