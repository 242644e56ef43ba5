// Draws a run folder from its record alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>

#include "emulator/report/figures.h"

namespace rankwire {

enum class ReportFormat : uint8_t {
  kHtml,      ///< report.html
  kCsv,       ///< operations.csv, flows.csv, ranks.csv, latency.csv, ports.csv, hardware.csv, jobs.csv, ...
  kMarkdown,  ///< report.md
  kPerfetto,  ///< timeline.json
};
using ReportFormats = std::set<ReportFormat>;

/// Everything that a run folder holds after a run: html, csv and perfetto.
ReportFormats standard_formats();
/// "html,csv,markdown,perfetto" or a part of it. Throws Error(kInput) naming a word that is none of these.
ReportFormats parse_formats(std::string_view list);

/// Writes `summary.json` and the files of `formats` into the folder, each whole or not at all. Throws Error(kInput)
/// when the folder has no record and Error(kRun) when a file cannot be written. Memory does not grow with the number of
/// operations. Returns what it learned, which saves `summary_table` from reading it again. A measured collective that
/// came so far that there is something to compare stands beside `cluster` on the page, where that is given.
RecordFigures write_report(const std::filesystem::path& run_folder, const ReportFormats& formats = standard_formats(),
                           const std::optional<ClusterMeasurement>& cluster = {});
/// The same of a record that is open, with the repetition that it shows.
RecordFigures write_report(const RunReader& record, const ReportFormats& formats = standard_formats(),
                           const std::optional<ClusterMeasurement>& cluster = {});

/// Writes the page alone, whole or not at all, and nothing into the run folder. Throws as write_report does.
void write_page(const RunReader& record, const std::filesystem::path& file);

}  // namespace rankwire
