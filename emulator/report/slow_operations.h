// The communication that a user should look at first, and which connections held it up.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"
#include "emulator/report/operation_statistics.h"

namespace rankwire {

/// As many as summary.json has.
constexpr size_t kListedSlowOperations = 16;

/// The first `limit` of the communication with the most extra time where it can be compared with the reference,
/// otherwise of the longest.
std::vector<OperationRow> slow_operations(const RunReader& record, const OperationStatistics& operations, size_t limit);

/// Of the first of them where the time went, the connections that waited longest, and the parts of the gap. Null where
/// none of that is known.
nlohmann::ordered_json slow_operations_json(const RunReader& record, const OperationStatistics& operations,
                                            const Diagnosis& diagnosis);
/// For each of `operations` a line about the connection that waited longest; empty where causes were not recorded.
std::vector<std::string> culprit_lines(const RunReader& record, const std::vector<OperationRow>& operations);
/// A table; empty where causes were not recorded.
std::string html_slow_operations(const RunReader& record, const OperationStatistics& operations);

}  // namespace rankwire
