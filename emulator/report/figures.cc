#include "emulator/report/figures.h"

namespace rankwire {

RecordFigures read_figures(const RunReader& record, size_t listed) {
  RecordFigures figures{OperationStatistics(listed), diagnose(record)};
  record.for_each_operation([&](const OperationRow& row) { figures.operations.add(row); });
  return figures;
}

}  // namespace rankwire
