#include "emulator/report/report.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "emulator/record/reader.h"
#include "emulator/report/html.h"
#include "emulator/report/markdown.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/output_file.h"
#include "emulator/report/summary.h"
#include "emulator/report/tables.h"
#include "emulator/report/timeline.h"

namespace rankwire {
namespace {

constexpr size_t kListedOperations = 200;

struct FormatName {
  const char* name;
  ReportFormat format;
};

constexpr FormatName kFormatNames[] = {{"html", ReportFormat::kHtml},
                                       {"csv", ReportFormat::kCsv},
                                       {"markdown", ReportFormat::kMarkdown},
                                       {"perfetto", ReportFormat::kPerfetto}};

ReportFormat format_of(std::string_view word) {
  for (const FormatName& entry : kFormatNames) {
    if (word == entry.name) return entry.format;
  }
  fail_input("unknown report format '{}'; there are html, csv, markdown and perfetto", word);
}

void write_whole(const std::filesystem::path& file, const std::string& text) {
  OutputFile out(file);
  out << text;
  out.commit();
}

/// One pass over the operations serves the table and the statistics.
OperationStatistics read_operations(const RunReader& record, const ReportFormats& formats) {
  OperationStatistics statistics(kListedOperations);
  std::optional<OperationsCsv> csv;
  if (formats.contains(ReportFormat::kCsv)) csv.emplace(record.folder() / "operations.csv");
  record.for_each_operation([&](const OperationRow& row) {
    statistics.add(row);
    if (csv) csv->add(row);
  });
  if (csv) csv->commit();
  return statistics;
}

}  // namespace

ReportFormats standard_formats() {
  return {ReportFormat::kHtml, ReportFormat::kCsv, ReportFormat::kPerfetto};
}

ReportFormats parse_formats(std::string_view list) {
  ReportFormats formats;
  while (true) {
    const size_t comma = list.find(',');
    formats.insert(format_of(list.substr(0, comma)));
    if (comma == std::string_view::npos) return formats;
    list.remove_prefix(comma + 1);
  }
}

OperationStatistics write_report(const std::filesystem::path& run_folder, const ReportFormats& formats) {
  const RunReader record(run_folder);
  write_whole(run_folder / "summary.json",
              summary(record).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  const OperationStatistics operations = read_operations(record, formats);
  if (formats.contains(ReportFormat::kCsv)) {
    write_whole(run_folder / "flows.csv", flows_csv(record));
    write_whole(run_folder / "ports.csv", ports_csv(record));
  }
  if (formats.contains(ReportFormat::kHtml)) write_whole(run_folder / "report.html", report_html(record, operations));
  if (formats.contains(ReportFormat::kMarkdown)) {
    write_whole(run_folder / "report.md", report_markdown(record, operations));
  }
  if (formats.contains(ReportFormat::kPerfetto)) {
    OutputFile out(run_folder / "timeline.json");
    write_timeline(record, out);
    out.commit();
  }
  return operations;
}

}  // namespace rankwire
