// What a report is drawn from besides the record itself: read once, in bounded memory but for a pair of ranks each.
#pragma once

#include <cstddef>
#include <optional>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"
#include "emulator/report/cluster.h"
#include "emulator/report/collective.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/requests.h"

namespace rankwire {

struct RecordFigures {
  OperationStatistics operations;
  Diagnosis diagnosis;
  std::optional<CollectiveTable> collective = {};  ///< where a collective was measured over sizes
  std::optional<ClusterComparison> cluster = {};   ///< where that was asked to stand beside a cluster's measurement
  RequestTable requests = {};                      ///< where nodes say what becomes of requests
};

/// Reads a record for a summary that names `listed` operations.
RecordFigures read_figures(const RunReader& record, size_t listed);

}  // namespace rankwire
