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
#include "emulator/report/slow_operations.h"
#include "emulator/report/stall.h"
#include "emulator/report/storms.h"
#include "emulator/report/time_shares.h"
#include "emulator/report/what_if.h"

namespace rankwire {
namespace {

constexpr size_t kPrintedReasons = 5, kPrintedFailures = 3, kDiagnosisLines = 10;

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

void add_bytes(std::string& text, const RunEnd& end) {
  const double wire = end.bytes.count == 0
                          ? 0
                          : 100.0 * static_cast<double>(end.bytes_wire.count) / static_cast<double>(end.bytes.count);
  text += fmt::format("{:<14}{} in {} messages: {} on the wire ({:.1f} %), {} local\n", "traffic", readable(end.bytes),
                      end.messages, readable(end.bytes_wire), wire, readable(end.bytes_local));
}

void add_transport(std::string& text, const RunEnd& end) {
  text += fmt::format("{:<14}{} retransmitted, {}, {}, {}\n", "transport",
                      counted(end.counters.retransmitted, "packet"), counted(end.counters.naks, "NAK"),
                      counted(end.counters.timeouts, "time-out"), counted(end.counters.ecn_ce_rx, "CE mark"));
  if (end.messages_lost + end.messages_duplicated + end.counters.payload_errors != 0) {
    text += fmt::format("{:<14}{} lost, {} duplicated, {} with wrong payload\n", "messages", end.messages_lost,
                        end.messages_duplicated, end.counters.payload_errors);
  }
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
  for (const LimitResult& limit : limit_results(record)) limits.push_back(limit.text);
  const std::vector<DiagnosisPart> parts = {
      named_part("stuck", stuck, "stalls.json"),
      named_part("found", findings(record, figures.diagnosis), "summary.json"),
      named_part("limits", limits, "summary.json"),
      waiting_part(record, !stuck.empty()),
      failures_part(record),
  };
  return cut_short(parts, verdict_of(record).verdict == "ok" ? SIZE_MAX : kDiagnosisLines - 1);
}

void add_round_trip(std::string& text, const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto latencies = run == nullptr ? std::vector<LatencyRow>() : record.latencies(*run);
  const LatencyRow* l = latency_of_all_ports(latencies, LatencyKind::kRoundTrip);
  if (l == nullptr) return;
  text += fmt::format("{:<14}P50 {}, P99 {} of {} packets; {}\n", readable(l->kind), readable(l->p50), readable(l->p99),
                      l->count, describe_clock(*run, *l));
}

std::string operation_label(const NodeInfo& node) {
  return fmt::format("{} ({}{}{})", node.name, node.kind, node.group.empty() ? "" : " ", node.group);
}

void add_culprit(std::string& text, const std::string& line) {
  if (!line.empty()) text += fmt::format("    most held up: {}\n", line);
}

void add_deviations(std::string& text, const RunReader& record, const std::vector<OperationRow>& deviations,
                    const Diagnosis& diagnosis) {
  if (deviations.empty()) {
    // Of a run that came to no good end it would say nothing.
    if (!completion_ratio(record)) return;
    text += fmt::format("{:<14}none: no communication took 1 % or 10 us longer than in the reference\n", "deviations");
    return;
  }
  text += fmt::format(
      "communication that took longer than in the reference, worst rank of each\n  {:>10} {:>10} "
      "{:>10} {:>8} {:>6} {:>9}  operation\n",
      "extra", "emulated", "reference", "ratio", "rank", "iteration");
  const RankNames names(record);
  const std::vector<std::string> culprits = culprit_lines(record, deviations);
  for (size_t i = 0; i < deviations.size(); ++i) {
    const OperationRow& row = deviations[i];
    const Duration emulated = row.emulated->duration(), reference = row.reference->duration();
    text += fmt::format("  {:>10} {:>10} {:>10} {:>8} {:>6} {:>9}  {}\n", "+" + readable(emulated - reference),
                        readable(emulated), readable(reference), readable_ratio(ratio_of(emulated, reference)),
                        names(row.node.rank), row.iteration, operation_label(row.node));
    if (const OperationGap* gap = gap_of(diagnosis, row); gap != nullptr && gap->is_explained())
      text += fmt::format("    of the extra time: {}\n", operation_gap_text(names, gap));
    add_culprit(text, culprits[i]);
  }
}

void add_longest(std::string& text, const RunReader& record, const std::vector<OperationRow>& longest) {
  if (longest.empty()) return;
  text += fmt::format("longest communication of the {} run, worst rank of each\n  {:>10} {:>6} {:>9}  operation\n",
                      record.emulated() != nullptr ? "emulated" : "reference", "duration", "rank", "iteration");
  const RankNames names(record);
  const std::vector<std::string> culprits = culprit_lines(record, longest);
  for (size_t i = 0; i < longest.size(); ++i) {
    const OperationRow& row = longest[i];
    const OperationTimes& times = row.emulated ? *row.emulated : *row.reference;
    text += fmt::format("  {:>10} {:>6} {:>9}  {}\n", readable(times.duration()), names(row.node.rank), row.iteration,
                        operation_label(row.node));
    add_culprit(text, culprits[i]);
  }
}

constexpr size_t kSummaryOperations = 5;

void add_operations(std::string& text, const RunReader& record, const RecordFigures& figures) {
  const OperationStatistics& operations = figures.operations;
  const std::vector<OperationRow> slow = slow_operations(record, operations, kSummaryOperations);
  if (record.emulated() == nullptr || record.reference() == nullptr) {
    add_longest(text, record, slow);
  } else if (operations.compared() != 0) {
    add_deviations(text, record, slow, figures.diagnosis);
  }
}

}  // namespace

std::string verdict_text(const RunReader& record) {
  const RecordVerdict verdict = verdict_of(record);
  const std::string_view first = std::string_view(verdict.reason).substr(0, verdict.reason.find('\n'));
  return first.empty() ? verdict.verdict : fmt::format("{}: {}", verdict.verdict, first);
}

std::string summary_table(const RunReader& record) {
  return summary_table(record, read_figures(record, kSummaryOperations));
}

std::string summary_table(const RunReader& record, const RecordFigures& figures) {
  const FidelityAssessment fidelity = assess_fidelity(record);
  std::string text = fmt::format("{:<14}{}\n", "verdict", verdict_text(record));
  text += diagnosis_text(record, figures);
  if (record.emulated() != nullptr) {
    text += fmt::format("{:<14}{}: {}\n", "fidelity", fidelity.fidelity, explain_fidelity(record));
  }
  for (const std::string& reason : fidelity.reasons) text += fmt::format("{:<14}{}\n", "", reason);
  text += fmt::format("{:<14}{}\n", "completion", describe_completion(record));
  if (const std::string certified = certification_text(record); !certified.empty())
    text += fmt::format("{:<14}{}\n", "resolution", certified);
  const char* title = "repetitions";
  for (const std::string& line : repetition_lines(record))
    text += fmt::format("{:<14}{}\n", std::exchange(title, ""), line);
  for (const auto& [name, line] : {std::pair("path", critical_path_line(record, figures.diagnosis)),
                                   std::pair("gap", waterfall_line(record, figures.diagnosis))})
    if (!line.empty()) text += fmt::format("{:<14}{}\n", name, line);
  if (const std::string band = band_text(record); !band.empty()) text += fmt::format("{:<14}{}\n", "band", band);
  title = "machines";
  for (const std::string& line : machine_lines(record))
    text += fmt::format("{:<14}{}\n", std::exchange(title, ""), line);
  if (const std::string what_if = what_if_text(record); !what_if.empty())
    text += fmt::format("{:<14}{}\n", "if free", what_if);
  if (const std::string models = models_text(record); !models.empty())
    text += fmt::format("{:<14}{}\n", "models", models);
  if (const std::string dilation = dilation_text(record); !dilation.empty())
    text += fmt::format("{:<14}{}\n", "dilation", dilation);
  if (const std::string hybrid = hybrid_text(record); !hybrid.empty())
    text += fmt::format("{:<14}{}\n", "hybrid", hybrid);
  text += jobs_text(record, figures.diagnosis.shares);
  text += background_text(record);
  text += requests_text(figures.requests);
  text += compute_text(record);
  if (const RecordedRun* run = principal_run(record)) add_bytes(text, run->end);
  if (record.emulated() != nullptr && record.emulated()->ended) add_transport(text, record.emulated()->end);
  title = "devices";
  for (const std::string& line : device_lines(record))
    text += fmt::format("{:<14}{}\n", std::exchange(title, ""), line);
  text += storms_text(record);
  add_round_trip(text, record);
  text += time_by_cause_text(record);
  add_operations(text, record, figures);
  text += fmt::format("{:<14}{}\n", "report", (record.folder() / "report.html").string());
  return text;
}

}  // namespace rankwire
