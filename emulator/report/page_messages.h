// The messages of operations in the timeline of `report.html`.
#pragma once

#include <cstddef>
#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/page_timeline.h"

namespace rankwire {

/// Of each side at most; beyond it the slowest of the record are. Both sides take 1.5 MB at most.
constexpr size_t kMostPageMessages = 20'000;

/// JSON that may stand in a `<script>`: of each side the messages of the record of which the page has an end's
/// operation, as columns like those of PageOperations::json. docs/metrics.md has the fields.
std::string page_messages_json(const RunReader& record, const PageOperations& operations,
                               size_t most = kMostPageMessages);

}  // namespace rankwire
