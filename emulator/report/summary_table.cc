#include "emulator/report/summary_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "emulator/report/assessment.h"
#include "emulator/report/background.h"
#include "emulator/report/band.h"
#include "emulator/report/certification.h"
#include "emulator/report/compute.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/device_counters.h"
#include "emulator/report/dilation.h"
#include "emulator/report/findings.h"
#include "emulator/report/format.h"
#include "emulator/report/hybrid.h"
#include "emulator/report/jobs.h"
#include "emulator/report/latency.h"
#include "emulator/report/limits.h"
#include "emulator/report/machines.h"
#include "emulator/report/models.h"
#include "emulator/report/operation_gaps.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/repetitions.h"
#include "emulator/report/requests.h"
#include "emulator/report/sections.h"
#include "emulator/report/shared_links.h"
#include "emulator/report/shared_ports.h"
#include "emulator/report/slow_operations.h"
#include "emulator/report/stall.h"
#include "emulator/report/storms.h"
#include "emulator/report/time_shares.h"
#include "emulator/report/what_if.h"

namespace rankwire {
namespace {

constexpr size_t kPrintedReasons = 5, kPrintedFailures = 3, kDiagnosisLines = 10;
/// Of a run that nothing is said against, and of one that has more to tell; and what the results of jobs, requests and
/// the like may add to the former.
constexpr size_t kGoodLines = 12, kLines = 20, kResultLines = 6;
constexpr size_t kReadOperations = 5, kToldOperations = 3, kPrintedFidelityReasons = 2;

/// Lines of the diagnosis that come first, and where a person finds those that are too many for a terminal.
struct DiagnosisPart {
  std::string name;
  std::vector<std::string> lines;
  const char* file;
  bool has_title = false;  ///< the first line says nothing without another
};

/// "found         FIRST", and below it the others.
DiagnosisPart named_part(const char* name, const std::vector<std::string>& texts, const char* file) {
  DiagnosisPart part{.name = name, .lines = {}, .file = file};
  const char* title = name;
  for (const std::string& text : texts)
    part.lines.push_back(fmt::format("{:<14}{}", std::exchange(title, ""), printable_line(text)));
  return part;
}

/// The lines of a verdict's reason behind the first: who waits for whom.
DiagnosisPart waiting_part(const RunReader& record, bool has_stall) {
  DiagnosisPart part{
      .name = "waiting", .lines = {}, .file = has_stall ? "stalls.json" : "summary.json", .has_title = true};
  const std::string reason = verdict_of(record).reason;
  std::string_view rest = reason;
  rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
  if (!rest.empty()) part.lines.emplace_back("waiting");
  for (size_t lines = 0; !rest.empty(); ++lines) {
    rest.remove_prefix(1);
    if (lines == kPrintedReasons) {
      part.lines.push_back(fmt::format("  and {} more, in report.html", std::ranges::count(rest, '\n') + 1));
      break;
    }
    const size_t end = std::min(rest.find('\n'), rest.size());
    part.lines.push_back(fmt::format("  {}", printable_line(rest.substr(0, end))));
    rest.remove_prefix(end);
  }
  return part;
}

std::string traffic_text(const RunEnd& end) {
  const double wire = end.bytes.count == 0
                          ? 0
                          : 100.0 * static_cast<double>(end.bytes_wire.count) / static_cast<double>(end.bytes.count);
  return fmt::format("{} in {} messages: {} on the wire ({:.1f} %), {} local", readable(end.bytes), end.messages,
                     readable(end.bytes_wire), wire, readable(end.bytes_local));
}

std::vector<std::string> transport_lines(const RunEnd& end) {
  std::vector<std::string> lines{
      fmt::format("{:<14}{} retransmitted, {}, {}, {}", "transport", counted(end.counters.retransmitted, "packet"),
                  counted(end.counters.naks, "NAK"), counted(end.counters.timeouts, "time-out"),
                  counted(end.counters.ecn_ce_rx, "CE mark"))};
  if (end.messages_lost + end.messages_duplicated + end.counters.payload_errors != 0)
    lines.push_back(fmt::format("{:<14}{} lost, {} duplicated, {} with wrong payload", "messages", end.messages_lost,
                                end.messages_duplicated, end.counters.payload_errors));
  return lines;
}

DiagnosisPart failures_part(const RunReader& record) {
  DiagnosisPart part{.name = "failed connections", .lines = {}, .file = "summary.json", .has_title = true};
  const RecordedRun* run = record.emulated();
  const auto failures = run == nullptr ? std::vector<FailureRow>() : record.failures(*run);
  const RankNames names(record);
  for (size_t i = 0; i < failures.size(); ++i) {
    if (i == kPrintedFailures) {
      part.lines.push_back(fmt::format("  and {} more, in summary.json", failures.size() - i));
      break;
    }
    const FailureRow& f = failures[i];
    const std::string ends = fmt::format("  {} to {}", names.titled(f.connection.source.value),
                                         names.titled(f.connection.destination.value));
    if (i == 0)
      part.lines.emplace_back(is_unconnected(f) ? "failed connections"
                                                : "failed connections, the first message of each");
    // One that could not be made has no message, and its state is the reason.
    part.lines.push_back(printable_line(
        is_unconnected(f) ? fmt::format("{}: {}", ends, f.reason)
                          : fmt::format("{}, {}: {} ({}); {}", ends, f.operation, f.reason, f.message, f.state)));
  }
  return part;
}

/// Those of the parts that there is room for, and one line that tells where the rest is.
std::string cut_short(const std::vector<DiagnosisPart>& parts, size_t room) {
  size_t all = 0;
  for (const DiagnosisPart& part : parts) all += part.lines.size();
  if (all > room) --room;
  std::string text;
  std::vector<std::string> cut;
  for (const DiagnosisPart& part : parts) {
    size_t printed = std::min(room, part.lines.size());
    if (printed == 1 && part.has_title) printed = 0;
    for (size_t i = 0; i < printed; ++i) text += part.lines[i] + "\n";
    if (printed < part.lines.size()) cut.push_back(fmt::format("{}: {}", part.name, part.file));
    room = cut.empty() ? room - printed : 0;
  }
  if (!cut.empty()) text += fmt::format("{:<14}{}; all of it: report.html\n", "more of", fmt::join(cut, ", "));
  return text;
}

/// What went wrong, the gravest first, for which a run that is not ok has ten lines with its verdict.
std::string diagnosis_text(const RunReader& record, const RecordFigures& figures) {
  std::vector<std::string> stuck, limits;
  if (std::string stall = stall_text(record); !stall.empty()) stuck.push_back(std::move(stall));
  // The verdict says those that are broken.
  const std::string verdict = verdict_of(record).reason;
  for (const LimitResult& limit : limit_results(record))
    if (verdict.find(limit.text) == std::string::npos) limits.push_back(limit.text);
  const std::vector<DiagnosisPart> parts = {
      named_part("stuck", stuck, "stalls.json"),
      named_part("found", findings(record, figures.diagnosis), "summary.json"),
      named_part("limits", limits, "summary.json"),
      waiting_part(record, !stuck.empty()),
      failures_part(record),
  };
  return cut_short(parts, verdict_of(record).verdict == "ok" ? SIZE_MAX : kDiagnosisLines - 1);
}

std::string round_trip_text(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto latencies = run == nullptr ? std::vector<LatencyRow>() : record.latencies(*run);
  const LatencyRow* l = latency_of_all_ports(latencies, LatencyKind::kRoundTrip);
  if (l == nullptr) return {};
  return fmt::format("P50 {}, P99 {} of {} packets; {}", readable(l->p50), readable(l->p99), l->count,
                     describe_clock(*run, *l));
}

std::string operation_label(const NodeInfo& node) {
  return fmt::format("{} ({}{}{})", node.name, node.kind, node.group.empty() ? "" : " ", node.group);
}

/// A line for each, and below the first, where `explains`, why it took so long.
std::vector<std::string> deviation_lines(const RunReader& record, const std::vector<OperationRow>& deviations,
                                         const Diagnosis& diagnosis, bool explains) {
  // Of a run that came to no good end it would say nothing.
  if (deviations.empty() && !completion_ratio(record)) return {};
  if (deviations.empty())
    return {fmt::format("{:<14}none: no communication took 1 % or 10 us longer than in the reference", "deviations")};
  std::vector<std::string> lines{
      fmt::format("  {:>10} {:>10} {:>10} {:>8} {:>6} {:>9}  communication that took longer, worst rank of each",
                  "extra", "emulated", "reference", "ratio", "rank", "iteration")};
  const RankNames names(record);
  const std::string culprit = culprit_lines(record, deviations).front();
  for (size_t i = 0; i < std::min(deviations.size(), kToldOperations); ++i) {
    const OperationRow& row = deviations[i];
    const Duration emulated = row.emulated->duration(), reference = row.reference->duration();
    lines.push_back(fmt::format("  {:>10} {:>10} {:>10} {:>8} {:>6} {:>9}  {}", "+" + readable(emulated - reference),
                                readable(emulated), readable(reference), readable_ratio(ratio_of(emulated, reference)),
                                names(row.node.rank), row.iteration, operation_label(row.node)));
    if (!explains || i > 0) continue;
    if (const OperationGap* gap = gap_of(diagnosis, row); gap != nullptr && gap->is_explained())
      lines.push_back(fmt::format("    of the extra time: {}", operation_gap_text(names, gap)));
    if (!culprit.empty()) lines.push_back(fmt::format("    most held up: {}", culprit));
  }
  return lines;
}

std::vector<std::string> longest_lines(const RunReader& record, const std::vector<OperationRow>& longest) {
  if (longest.empty()) return {};
  std::vector<std::string> lines{
      fmt::format("  {:>10} {:>6} {:>9}  longest communication of the {} run, worst rank of each", "duration", "rank",
                  "iteration", record.emulated() != nullptr ? "emulated" : "reference")};
  const RankNames names(record);
  for (const OperationRow& row : longest) {
    if (lines.size() > kToldOperations) break;
    const OperationTimes& times = row.emulated ? *row.emulated : *row.reference;
    lines.push_back(fmt::format("  {:>10} {:>6} {:>9}  {}", readable(times.duration()), names(row.node.rank),
                                row.iteration, operation_label(row.node)));
  }
  return lines;
}

std::vector<std::string> operation_lines(const RunReader& record, const RecordFigures& figures, bool explains) {
  const OperationStatistics& operations = figures.operations;
  const std::vector<OperationRow> slow = slow_operations(record, operations, kReadOperations);
  if (record.emulated() == nullptr || record.reference() == nullptr) return longest_lines(record, slow);
  if (operations.compared() == 0) return {};
  return deviation_lines(record, slow, figures.diagnosis, explains);
}

/// "NAME         TEXT"; nothing where the text is empty.
TextSection line_section(const char* name, const std::string& text, int rank) {
  TextSection made{.name = name, .lines = {}, .rank = rank};
  if (!text.empty()) made.lines.push_back(fmt::format("{:<14}{}", name, text));
  return made;
}

/// The name stands before the first of them.
TextSection list_section(const char* name, const std::vector<std::string>& texts, int rank) {
  TextSection made{.name = name, .lines = {}, .rank = rank};
  const char* title = name;
  for (const std::string& text : texts) made.lines.push_back(fmt::format("{:<14}{}", std::exchange(title, ""), text));
  return made;
}

/// Of which the first `least` lines are a heading and an entry.
TextSection table_section(const char* name, const std::string& text, int rank, size_t least) {
  return {.name = name, .lines = lines_of(text), .rank = rank, .least = least};
}

TextSection fidelity_section(const RunReader& record, const FidelityAssessment& fidelity) {
  if (record.emulated() == nullptr) return {};
  std::vector<std::string> texts{fmt::format("{}: {}", fidelity.fidelity, explain_fidelity(record))};
  for (const std::string& reason : fidelity.reasons) {
    if (texts.size() > kPrintedFidelityReasons) {
      texts.push_back(fmt::format("and {} more, in summary.json", fidelity.reasons.size() - kPrintedFidelityReasons));
      break;
    }
    texts.push_back(reason);
  }
  return list_section("fidelity", texts, 0);
}

}  // namespace

std::string verdict_text(const RunReader& record) {
  const RecordVerdict verdict = verdict_of(record);
  const std::string_view first = std::string_view(verdict.reason).substr(0, verdict.reason.find('\n'));
  return first.empty() ? verdict.verdict : fmt::format("{}: {}", verdict.verdict, first);
}

std::string summary_table(const RunReader& record) {
  return summary_table(record, read_figures(record, kReadOperations));
}

std::string summary_table(const RunReader& record, const RecordFigures& figures) {
  const Diagnosis& diagnosis = figures.diagnosis;
  const FidelityAssessment fidelity = assess_fidelity(record);
  const std::string diagnosed = diagnosis_text(record, figures);
  const bool is_good = verdict_of(record).verdict == "ok" && diagnosed.empty() && fidelity.reasons.empty();
  const RecordedRun* const emulated = record.emulated();
  const RecordedRun* const principal = principal_run(record);
  const bool has_transport = emulated != nullptr && emulated->ended;
  // What was asked for beside the run itself comes before what explains it, and that before what is as usual.
  const std::vector<TextSection> sections = {
      line_section("verdict", verdict_text(record), 0),
      {.name = "found", .lines = lines_of(diagnosed)},
      line_section("limits", unjudged_limits_text(record), 0),
      line_section("completion", describe_completion(record), 0),
      fidelity_section(record, fidelity),
      line_section("resolution", certification_text(record), 2),
      list_section("repetitions", repetition_lines(record), 1),
      line_section("path", critical_path_line(record, diagnosis), 9),
      line_section("gap", waterfall_line(record, diagnosis), 4),
      line_section("band", band_text(record), 6),
      list_section("machines", machine_lines(record), 2),
      line_section("if free", what_if_text(record), 5),
      line_section("models", models_text(record), 2),
      line_section("dilation", dilation_text(record), 2),
      line_section("hybrid", hybrid_text(record), 2),
      table_section("jobs", jobs_text(record), 1, 3),
      table_section("links that jobs share", shared_links_text(record), 4, 2),
      table_section("ports that jobs share", SharedPorts(record, diagnosis.shares).text(), 8, 2),
      table_section("background", background_text(record), 1, 3),
      table_section("requests", requests_text(figures.requests), 1, 1),
      line_section("traffic", principal != nullptr ? traffic_text(principal->end) : "", 8),
      {.name = "transport",
       .lines = has_transport ? transport_lines(emulated->end) : std::vector<std::string>(),
       .rank = 7},
      list_section("devices", device_lines(record), 3),
      table_section("pause storms", storms_text(record), 2, 2),
      line_section("round trip", round_trip_text(record), 10),
      table_section("queue pairs", time_by_cause_text(record), 12, 1),
      table_section("compute", compute_text(record), 11, 1),
      {.name = "operations", .lines = operation_lines(record, figures, !is_good), .rank = 5, .least = 2},
  };
  const bool has_results = !record.jobs().empty() || !record.background().empty() || !figures.requests.sides.empty();
  const size_t room = !is_good ? kLines : has_results ? kGoodLines + kResultLines : kGoodLines;
  const FittedText fitted = rankwire::fitted(sections, room - 1);
  const std::string more =
      fitted.left_out.empty() ? "" : fmt::format(", which has more: {}", fmt::join(fitted.left_out, ", "));
  return fitted.text + fmt::format("{:<14}{}{}\n", "report", (record.folder() / "report.html").string(), more);
}

}  // namespace rankwire
