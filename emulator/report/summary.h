// The summary of a record: `summary.json`, and the text that a person reads after a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/operation_statistics.h"

namespace rankwire {

/// The object of `summary.json`. Absent values are null. Fields are described in docs/metrics.md. The first form reads
/// the operations of the record, as below.
nlohmann::ordered_json summary(const RunReader& record);
nlohmann::ordered_json summary(const RunReader& record, const OperationStatistics& operations);

/// "failed: why", and some of who waits for whom on further lines.
std::string verdict_text(const RunReader& record);

/// What `rankwire run` prints: verdict, times, traffic, the operations that deviate most, where the report is. Ends
/// with a newline.
std::string summary_table(const RunReader& record);
std::string summary_table(const RunReader& record, const OperationStatistics& operations);

}  // namespace rankwire
