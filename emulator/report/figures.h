// What a report is drawn from besides the record itself: read once, in bounded memory but for a pair of ranks each.
#pragma once

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/report/operation_statistics.h"

namespace rankwire {

struct RecordFigures {
  OperationStatistics operations;
  Diagnosis diagnosis;
};

}  // namespace rankwire
