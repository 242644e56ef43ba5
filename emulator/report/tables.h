// The CSV files of a run folder: RFC 4180 fields, a header line, '\n' at line ends, empty where a value is absent.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/record/reader.h"
#include "emulator/report/output_file.h"

namespace rankwire {

/// `operations.csv`, row by row. Columns are described in docs/metrics.md.
class OperationsCsv {
 public:
  /// Throws as OutputFile does.
  explicit OperationsCsv(const std::filesystem::path& file);
  void add(const OperationRow& row);
  void commit();

 private:
  void field(std::string_view text);
  void times(const std::optional<OperationTimes>& times);
  void flush();

  OutputFile out_;
  fmt::memory_buffer buffer_;
};

/// `flows.csv` and `ports.csv` whole: every run of the record, told apart by the first column.
std::string flows_csv(const RunReader& record);
std::string ports_csv(const RunReader& record);

}  // namespace rankwire
