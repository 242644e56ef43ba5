// `report.md`: the result for a ticket or a pull request.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/figures.h"

namespace rankwire {

/// The summary and the 50 groups of operations with the most time, as GitHub-flavoured Markdown.
std::string report_markdown(const RunReader& record, const RecordFigures& figures);

}  // namespace rankwire
