#include "emulator/report/figures.h"

#include <utility>

#include "emulator/record/plausibility.h"

namespace rankwire {

RecordFigures read_figures(const RunReader& record, size_t listed) {
  require_plausible(record.folder());
  RecordFigures figures{OperationStatistics(listed), {}};
  CollectiveStatistics collective(record);
  record.for_each_operation([&](const OperationRow& row) {
    figures.operations.add(row);
    collective.add(row);
  });
  figures.diagnosis = diagnose(record, figures.operations.deviations());
  figures.collective = std::move(collective).finish();
  figures.requests = read_requests(record);
  return figures;
}

}  // namespace rankwire
