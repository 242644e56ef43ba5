// `report.html`: one file that opens offline, on a screen in light or dark, or on paper.
#pragma once

#include <span>
#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/figures.h"
#include "emulator/report/flow_statistics.h"
#include "emulator/report/page_timeline.h"
#include "emulator/report/picture.h"

namespace rankwire {

/// The page: verdict, times and who set the pace on the first screen, then the operations that deviate most, the ranks,
/// the timeline, packet latencies and the tables. All are bounded: 50 operations, 16 ranks by time and 64 by traffic,
/// 200 patterns of operations, 500 queue pairs and 100 messages; the CSV files have the rest. `flows` are those of
/// RunReader::runs, in that order, `activity` is that of `read_activity`, `page_operations` has been given all
/// operations.
std::string report_html(const RunReader& record, const RecordFigures& figures, std::span<const FlowStatistics> flows,
                        const RecordActivity& activity, const PageOperations& page_operations);

}  // namespace rankwire
