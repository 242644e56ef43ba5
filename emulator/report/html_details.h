// The tables of `report.html` about operations, failures and messages. Each function returns an empty text when there
// is nothing to show.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/operation_statistics.h"

namespace rankwire {

/// The patterns of operations with the most total time, at most 200.
std::string html_groups(const RunReader& record, const OperationStatistics& operations);
/// The emulated side's connections that failed.
std::string html_failures(const RunReader& record);
/// The 100 slowest messages that were kept.
std::string html_messages(const RunReader& record);

}  // namespace rankwire
