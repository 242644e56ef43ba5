// The CSV files of a run folder: RFC 4180 fields, a header line, '\n' at line ends, empty where a value is absent.
#pragma once

#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// Lines end with '\n'. Columns are described in docs/metrics.md.
std::string operations_csv_header();
std::string operations_csv_line(const OperationRow& row);

/// `flows.csv` and `ports.csv` whole: every run of the record, told apart by the first column.
std::string flows_csv(const RunReader& record);
std::string ports_csv(const RunReader& record);

}  // namespace rankwire
