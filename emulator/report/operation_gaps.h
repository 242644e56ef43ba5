// Why single operations took longer than in the reference.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/rank_names.h"

namespace rankwire {

/// Null where the diagnosis was not asked about that execution, or does not know.
const OperationGap* gap_of(const Diagnosis& diagnosis, const OperationRow& operation);
/// `gap` of an entry of slow_operations in summary.json; null for a null `gap`.
nlohmann::ordered_json operation_gap_json(const OperationGap* gap);
/// "+15 us waiting for rank 3, +5 us window full"; empty for a null `gap`.
std::string operation_gap_text(const RankNames& names, const OperationGap* gap);
/// A table of the same communication, the first of it; empty where no gap is known.
std::string html_operation_gaps(const RunReader& record, const OperationStatistics& operations,
                                const Diagnosis& diagnosis);
/// slow_operations.csv: of each distinct communication that took longer than in the reference the worst execution.
std::string slow_operations_csv(const OperationStatistics& operations, const Diagnosis& diagnosis);

}  // namespace rankwire
