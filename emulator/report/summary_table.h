// What a person reads of a record after a run.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/figures.h"

namespace rankwire {

/// "failed: why", on one line.
std::string verdict_text(const RunReader& record);

/// What `rankwire run` prints: verdict, what was found, who waits for whom, times, traffic, the operations that deviate
/// most, where the report is. Ends with a newline. The first form reads what the second
/// is given.
std::string summary_table(const RunReader& record);
std::string summary_table(const RunReader& record, const RecordFigures& figures);

}  // namespace rankwire
