// `report.html`: one file that opens offline, on a screen in light or dark, or on paper.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/operation_statistics.h"

namespace rankwire {

/// The page. Its tables are bounded: 500 groups of operations, the executions that `operations` kept, 500 flows and 100
/// messages; the CSV files have the rest.
std::string report_html(const RunReader& record, const OperationStatistics& operations);

}  // namespace rankwire
