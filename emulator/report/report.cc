#include "emulator/report/report.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/record/plausibility.h"
#include "emulator/record/reader.h"
#include "emulator/report/background.h"
#include "emulator/report/collective_table.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/device_counters.h"
#include "emulator/report/flow_statistics.h"
#include "emulator/report/hardware.h"
#include "emulator/report/html.h"
#include "emulator/report/impairments.h"
#include "emulator/report/jobs.h"
#include "emulator/report/losses.h"
#include "emulator/report/markdown.h"
#include "emulator/report/operation_bands.h"
#include "emulator/report/operation_gaps.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/output_file.h"
#include "emulator/report/page_timeline.h"
#include "emulator/report/picture.h"
#include "emulator/report/queues.h"
#include "emulator/report/rates.h"
#include "emulator/report/requests.h"
#include "emulator/report/shared_links.h"
#include "emulator/report/shared_ports.h"
#include "emulator/report/slack.h"
#include "emulator/report/stall.h"
#include "emulator/report/summary.h"
#include "emulator/report/tables.h"
#include "emulator/report/timeline.h"
#include "emulator/report/traffic_matrix.h"
#include "emulator/report/traffic_paths.h"

namespace rankwire {
namespace {

constexpr size_t kListedOperations = 200, kListedQueuePairs = 500;

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
  if (word == "replay") fail_input("report format 'replay' stands alone, not among others");
  fail_input("unknown report format '{}'; there are html, csv, markdown, perfetto and replay", word);
}

/// One pass over the operations serves the tables, the statistics and the page.
RecordFigures read_operations(const RunReader& record, const ReportFormats& formats, PageOperations& page) {
  RecordFigures figures{OperationStatistics(kListedOperations), {}};
  CollectiveStatistics collective(record);
  std::optional<OperationsCsv> csv;
  if (formats.contains(ReportFormat::kCsv)) csv.emplace(record.folder() / "operations.csv");
  const TrafficPaths paths(record);
  OperationBands bands(record);
  record.for_each_operation([&](const OperationRow& row) {
    figures.operations.add(row);
    collective.add(row);
    if (formats.contains(ReportFormat::kHtml)) page.add(row);
    if (csv) csv->add(row, paths.of(row.node), bands.of(row.node));
  });
  if (csv) csv->commit();
  figures.diagnosis = diagnose(record, figures.operations.deviations());
  figures.collective = std::move(collective).finish();
  figures.requests = read_requests(record);
  return figures;
}

/// One pass over the queue pairs of each run, in the order of RunReader::runs.
std::vector<FlowStatistics> read_flows(const RunReader& record, const ReportFormats& formats) {
  std::vector<FlowStatistics> statistics;
  if (!formats.contains(ReportFormat::kCsv) && !formats.contains(ReportFormat::kHtml)) return statistics;
  std::optional<FlowsCsv> csv;
  if (formats.contains(ReportFormat::kCsv)) csv.emplace(record.folder() / "flows.csv");
  for (const RecordedRun& run : record.runs()) {
    FlowStatistics& of_run = statistics.emplace_back(kListedQueuePairs);
    record.for_each_flow(run, [&](const RecordedFlow& flow) {
      of_run.add(flow);
      if (csv) csv->add(run, flow);
    });
  }
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

RecordFigures write_report(const std::filesystem::path& run_folder, const ReportFormats& formats,
                           const std::optional<ClusterMeasurement>& cluster) {
  return write_report(RunReader(run_folder), formats, cluster);
}

RecordFigures write_report(const RunReader& record, const ReportFormats& formats,
                           const std::optional<ClusterMeasurement>& cluster) {
  const std::filesystem::path& run_folder = record.folder();
  require_plausible(run_folder);
  PageOperations page_operations;
  RecordFigures figures = read_operations(record, formats, page_operations);
  if (cluster && figures.collective && !figures.collective->rows.empty())
    figures.cluster = compare_with_cluster(*figures.collective, *cluster);
  write_file(run_folder / "summary.json",
             summary(record, figures).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (const nlohmann::ordered_json stall = stalls_json(record); !stall.is_null())
    write_file(run_folder / "stalls.json", stall.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  const std::vector<FlowStatistics> flows = read_flows(record, formats);
  if (formats.contains(ReportFormat::kCsv)) {
    write_file(run_folder / "ranks.csv", ranks_csv(record, flows));
    write_traffic_csv(record, run_folder / "traffic.csv");
    if (!record.jobs().empty()) {
      write_file(run_folder / "jobs.csv", jobs_csv(record));
      write_file(run_folder / "shared.csv", shared_links_csv(record));
      write_file(run_folder / "shared_ports.csv", shared_ports_csv(record));
    }
    if (!record.background().empty()) write_file(run_folder / "background.csv", background_csv(record));
    if (!figures.requests.rows.empty()) write_file(run_folder / "requests.csv", requests_csv(figures.requests));
    if (figures.collective) write_file(run_folder / "collective.csv", collective_csv(*figures.collective));
    write_file(run_folder / "critical_path.csv", critical_path_csv(figures.diagnosis));
    write_file(run_folder / "slow_operations.csv", slow_operations_csv(figures.operations, figures.diagnosis));
    write_file(run_folder / "slack.csv", slack_csv(figures.diagnosis));
    write_file(run_folder / "losses.csv", losses_csv(record, figures.diagnosis.losses));
    write_file(run_folder / "latency.csv", latency_csv(record));
    write_file(run_folder / "ports.csv", ports_csv(record, flows));
    write_file(run_folder / "hardware.csv", hardware_csv(record));
    write_file(run_folder / "impairments.csv", impairments_csv(record));
    write_file(run_folder / "queues.csv", queues_csv(record));
    write_file(run_folder / "port_rates.csv", port_rates_csv(record));
    write_file(run_folder / "allowances.csv", allowances_csv(record));
    write_file(run_folder / "device_counters.csv", device_counters_csv(record));
  }
  std::optional<RecordActivity> activity;
  if (formats.contains(ReportFormat::kPerfetto)) {
    OutputFile out(run_folder / "timeline.json");
    if (formats.contains(ReportFormat::kHtml)) {
      activity = write_timeline_with_activity(record, out, {.diagnosis = &figures.diagnosis});
    } else {
      write_timeline(record, out, {.diagnosis = &figures.diagnosis});
    }
    out.commit();
  }
  if (formats.contains(ReportFormat::kHtml)) {
    if (!activity) activity = read_activity(record);
    write_file(run_folder / "report.html", report_html(record, figures, flows, *activity, page_operations));
  }
  if (formats.contains(ReportFormat::kMarkdown)) {
    write_file(run_folder / "report.md", report_markdown(record, figures));
  }
  return figures;
}

void write_page(const RunReader& record, const std::filesystem::path& file) {
  require_plausible(record.folder());
  const ReportFormats page_alone{ReportFormat::kHtml};
  PageOperations page_operations;
  const RecordFigures figures = read_operations(record, page_alone, page_operations);
  write_file(file,
             report_html(record, figures, read_flows(record, page_alone), read_activity(record), page_operations));
}

}  // namespace rankwire
