// `report.html`: one file that opens offline, on a screen in light or dark, or on paper.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/operation_statistics.h"

namespace rankwire {

/// The page: verdict, times and who set the pace on the first screen, then the operations that deviate most, the ranks,
/// the timeline and the tables. All are bounded: 50 operations, 16 ranks, 200 patterns of operations, 500 flows and 100
/// messages; the CSV files have the rest.
std::string report_html(const RunReader& record, const OperationStatistics& operations);

}  // namespace rankwire
