// The CSV files of a run folder: RFC 4180 fields, a header line, '\n' at line ends, empty where a value is absent.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "emulator/record/reader.h"
#include "emulator/report/band.h"
#include "emulator/report/flow_statistics.h"
#include "emulator/report/output_file.h"

namespace rankwire {

/// `operations.csv`, row by row. Columns are described in docs/metrics.md. `path`: as TrafficPaths tells it.
class OperationsCsv {
 public:
  /// Throws as OutputFile does.
  explicit OperationsCsv(const std::filesystem::path& file);
  /// `band`: the reference's of such operations; null: there is none.
  void add(const OperationRow& row, std::string_view path, const ReferenceBand* band);
  void commit();

 private:
  void field(std::string_view text);
  void times(const std::optional<OperationTimes>& times);
  void band(const OperationRow& row, const ReferenceBand* band);
  void flush();

  OutputFile out_;
  fmt::memory_buffer buffer_;
};

/// `flows.csv`, row by row: a row for each queue pair.
class FlowsCsv {
 public:
  /// Throws as OutputFile does.
  explicit FlowsCsv(const std::filesystem::path& file);
  void add(const RecordedRun& run, const RecordedFlow& row);
  void commit();

 private:
  void flush();

  OutputFile out_;
  fmt::memory_buffer buffer_;
};

/// `ranks.csv`, `latency.csv` and `ports.csv` whole: every run of the record, told apart by the first column. `flows`
/// are those of RunReader::runs, in that order.
std::string ranks_csv(const RunReader& record, std::span<const FlowStatistics> flows);
std::string latency_csv(const RunReader& record);
std::string ports_csv(const RunReader& record, std::span<const FlowStatistics> flows);

}  // namespace rankwire
