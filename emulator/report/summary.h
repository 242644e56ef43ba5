// The summary of a record: `summary.json`, and the text that a person reads after a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/figures.h"

namespace rankwire {

/// The object of `summary.json`. Absent values are null. Fields are described in docs/metrics.md. The first form reads
/// what the second is given.
nlohmann::ordered_json summary(const RunReader& record);
nlohmann::ordered_json summary(const RunReader& record, const RecordFigures& figures);

/// "failed: why", on one line.
std::string verdict_text(const RunReader& record);

/// What `rankwire run` prints: verdict, what was found, who waits for whom, times, traffic, the operations that deviate
/// most, where the report is. Ends with a newline.
std::string summary_table(const RunReader& record);
std::string summary_table(const RunReader& record, const RecordFigures& figures);

}  // namespace rankwire
