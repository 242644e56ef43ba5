#include "emulator/report/summary.h"

#include <algorithm>
#include <utility>

#include "base/transport_counters.h"
#include "emulator/diagnosis/loop_turns.h"
#include "emulator/report/assessment.h"
#include "emulator/report/background.h"
#include "emulator/report/band.h"
#include "emulator/report/blame.h"
#include "emulator/report/certification.h"
#include "emulator/report/compute.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/findings.h"
#include "emulator/report/format.h"
#include "emulator/report/hardware.h"
#include "emulator/report/impairments.h"
#include "emulator/report/jobs.h"
#include "emulator/report/latency.h"
#include "emulator/report/limits.h"
#include "emulator/report/models.h"
#include "emulator/report/queues.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/repetitions.h"
#include "emulator/report/slow_operations.h"
#include "emulator/report/stall.h"
#include "emulator/report/storms.h"
#include "emulator/report/time_shares.h"
#include "emulator/report/what_if.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

Json completion_json(const RecordedRun* run) {
  Json json = {{"completion_time_ps", nullptr}, {"per_rank_ps", nullptr}};
  if (run == nullptr || !run->ended) return json;
  json["completion_time_ps"] = run->end.completion.ps;
  Json& ranks = json["per_rank_ps"] = Json::array();
  for (const Duration completion : run->end.per_rank) ranks.push_back(completion.ps);
  return json;
}

/// Counters of the emulated side only: the reference has no packets to count.
Json transport_json(const RecordedRun* run) {
  const bool known = run != nullptr && run->ended;
  Json json;
  const auto add = [&](const char* name, uint64_t value) { json[name] = known ? Json(value) : Json(nullptr); };
  const RunEnd none;
  const RunEnd& end = known ? run->end : none;
  for (const CounterField& counter : transport_counters()) {
    if (counter.field != &TransportCounters::stalls) add(counter.name, end.counters.*counter.field);
  }
  add("messages_duplicated", end.messages_duplicated);
  add("messages_lost", end.messages_lost);
  return json;
}

Json generator_json(const RecordedRun* run) {
  if (run == nullptr || !run->ended) {
    return {{"worst_stall_ps", nullptr},    {"stalls", nullptr},    {"slipped_ps", nullptr},
            {"pacing_slipped_ps", nullptr}, {"core_busy", nullptr}, {"turn_ps", nullptr},
            {"worst_turn_ps", nullptr}};
  }
  const TransportCounters& counters = run->end.counters;
  const std::vector<Histogram::Bucket>& turns = run->end.turns;
  return {{"worst_stall_ps", counters.worst_stall.ps},
          {"stalls", counters.stalls},
          {"slipped_ps", counters.slipped.ps},
          {"pacing_slipped_ps", counters.pacing_slipped.ps},
          {"core_busy", run->end.core_busy},
          {"turn_ps", turns.empty() ? Json(nullptr) : Json(typical_turn(turns).ps)},
          {"worst_turn_ps", turns.empty() ? Json(nullptr) : Json(turns.back().high.ps)}};
}

Json details_json(const RecordedRun* run) {
  if (run == nullptr || !run->ended) return nullptr;
  Json json = Json::object();
  for (const DetailRow& detail : run->end.details) json[detail.name] = detail.value;
  return json;
}

/// All ports together.
Json packet_latency_json(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto latencies = run == nullptr ? std::vector<LatencyRow>() : record.latencies(*run);
  Json json;
  for (const LatencyKind kind : {LatencyKind::kRoundTrip, LatencyKind::kOneWay}) {
    Json& of_kind = json[to_string(kind)] = nullptr;
    const LatencyRow* l = latency_of_all_ports(latencies, kind);
    if (l == nullptr) continue;
    of_kind = {{"count", l->count},      {"min_ps", l->min.ps}, {"mean_ps", l->mean.ps},
               {"p50_ps", l->p50.ps},    {"p90_ps", l->p90.ps}, {"p99_ps", l->p99.ps},
               {"p999_ps", l->p999.ps},  {"max_ps", l->max.ps}, {"hardware_time", l->hardware_time},
               {"error_ps", l->error.ps}};
  }
  return json;
}

Json completion_time_json(const RecordedRun* run) {
  if (run == nullptr || !run->latency) return nullptr;
  const MessageLatency& l = *run->latency;
  return {{"count", l.count},   {"p50_ps", l.p50.ps},   {"p95_ps", l.p95.ps},
          {"p99_ps", l.p99.ps}, {"p999_ps", l.p999.ps}, {"max_ps", l.max.ps}};
}

Json record_json(const RunReader& record) {
  RecordLoss loss;
  for (const RecordedRun& run : record.runs()) {
    loss.operations += run.loss.operations;
    loss.messages += run.loss.messages;
    loss.unjoined += run.loss.unjoined;
  }
  return {{"operations_dropped", loss.operations},
          {"messages_dropped", loss.messages},
          {"messages_unjoined", loss.unjoined}};
}

Json config_json(const std::string& text) {
  if (text.empty()) return nullptr;
  Json config = Json::parse(text, nullptr, false);
  return config.is_discarded() ? Json(text) : config;
}

/// The emulated side's number of ranks, else the reference's.
Json ranks_json(const RunReader& record) {
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run != nullptr) return run->start.ranks;
  }
  return nullptr;
}

Json aggregators_json(const RunReader& record) {
  const RankNames names(record);
  Json list = Json::array();
  for (size_t i = 0; i < names.aggregators().size(); ++i)
    list.push_back({{"rank", names.first_aggregator() + i}, {"name", names.aggregators()[i]}});
  return list;
}

Json failures_json(const RunReader& record) {
  Json list = Json::array();
  const RecordedRun* run = record.emulated();
  if (run == nullptr) return list;
  for (const FailureRow& f : record.failures(*run)) {
    list.push_back({{"connection", f.connection.id.value},
                    {"source", f.connection.source.value},
                    {"destination", f.connection.destination.value},
                    {"operation", f.operation},
                    {"message", f.message},
                    {"reason", f.reason},
                    {"state", f.state}});
  }
  return list;
}

constexpr size_t kPrintedReasons = 5, kPrintedFailures = 3;

/// The lines of a verdict's reason behind the first: who waits for whom.
void add_waiting(std::string& text, const RunReader& record) {
  const std::string reason = verdict_of(record).reason;
  std::string_view rest = reason;
  rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
  const char* title = "waiting\n";
  for (size_t lines = 0; !rest.empty(); ++lines) {
    rest.remove_prefix(1);
    text += std::exchange(title, "");
    if (lines == kPrintedReasons) {
      text += fmt::format("  and {} more, in report.html\n", std::ranges::count(rest, '\n') + 1);
      return;
    }
    const size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("  {}\n", rest.substr(0, end));
    rest.remove_prefix(end);
  }
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

void add_failures(std::string& text, const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto failures = run == nullptr ? std::vector<FailureRow>() : record.failures(*run);
  const RankNames names(record);
  for (size_t i = 0; i < failures.size(); ++i) {
    if (i == kPrintedFailures) {
      text += fmt::format("  and {} more, in summary.json\n", failures.size() - i);
      break;
    }
    const FailureRow& f = failures[i];
    if (i == 0) text += "failed connections, the first message of each\n";
    text += fmt::format("  {} to {}, {}: {} ({}); {}\n", names.titled(f.connection.source.value),
                        names.titled(f.connection.destination.value), f.operation, f.reason, f.message, f.state);
  }
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

void add_deviations(std::string& text, const RunReader& record, const std::vector<OperationRow>& deviations) {
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

void add_operations(std::string& text, const RunReader& record, const OperationStatistics& operations) {
  const std::vector<OperationRow> slow = slow_operations(record, operations, kSummaryOperations);
  if (record.emulated() == nullptr || record.reference() == nullptr) {
    add_longest(text, record, slow);
  } else if (operations.compared() != 0) {
    add_deviations(text, record, slow);
  }
}

RecordFigures read_figures(const RunReader& record, size_t listed) {
  RecordFigures figures{OperationStatistics(listed), diagnose(record)};
  record.for_each_operation([&](const OperationRow& row) { figures.operations.add(row); });
  return figures;
}

}  // namespace

nlohmann::ordered_json summary(const RunReader& record) {
  return summary(record, read_figures(record, kListedSlowOperations));
}

nlohmann::ordered_json summary(const RunReader& record, const RecordFigures& figures) {
  const RecordVerdict verdict = verdict_of(record);
  const FidelityAssessment fidelity = assess_fidelity(record);
  const RecordedRun* principal = principal_run(record);
  const auto of_principal = [&](auto value) {
    return principal == nullptr ? Json(nullptr) : Json(value(principal->end));
  };
  const auto ratio = completion_ratio(record);

  Json json;
  json["rankwire"] = {{"version", record.version()}};
  json["config"] = config_json(record.config());
  json["verdict"] = verdict.verdict;
  json["reason"] = verdict.reason;
  json["reason_code"] = verdict.code;
  json["fidelity"] = fidelity.fidelity;
  json["fidelity_reasons"] = fidelity.reasons;
  json["bytes_wire"] = of_principal([](const RunEnd& end) { return end.bytes_wire.count; });
  json["bytes_local"] = of_principal([](const RunEnd& end) { return end.bytes_local.count; });
  json["ranks"] = ranks_json(record);
  json["aggregators"] = aggregators_json(record);
  json["messages"] = of_principal([](const RunEnd& end) { return end.messages; });
  json["bytes"] = of_principal([](const RunEnd& end) { return end.bytes.count; });
  json["emulated"] = completion_json(record.emulated());
  json["reference"] = completion_json(record.reference());
  json["reference"]["band"] = band_json(record);
  const std::string note = missing_band_text(record);
  json["reference"]["band_note"] = note.empty() ? Json(nullptr) : Json(note);
  json["limits"] = limits_json(record);
  json["stall"] = stall_json(record);
  json["what_if"] = what_if_json(record);
  json["blame"] = blame_json(record, figures.diagnosis);
  json["diagnosis"] = diagnosis_json(record, figures.diagnosis);
  json["critical_path"] = critical_path_json(record, figures.diagnosis);
  json["waterfall"] = waterfall_json(figures.diagnosis);
  json["ratio"] = ratio ? Json(*ratio) : Json(nullptr);
  json["repetitions"] = repetitions_json(record);
  json["certification"] = certification_json(record);
  json["models"] = models_json(record);
  json["jobs"] = jobs_json(record, figures.diagnosis.shares);
  json["background"] = background_json(record);
  json["transport"] = transport_json(record.emulated());
  json["transport_details"] = details_json(record.emulated());
  json["generator"] = generator_json(record.emulated());
  json["latency"] = packet_latency_json(record);
  json["message_completion_time"] = completion_time_json(record.emulated());
  json["time_by_cause"] = time_by_cause_json(record);
  json["slow_operations"] = slow_operations_json(record, figures.operations);
  json["compute"] = compute_json(record);
  json["failures"] = failures_json(record);
  json["impairments"] = impairments_json(record);
  json["queues"] = queues_json(record);
  json["storms"] = storms_json(record);
  json["hardware"] = hardware_json(record);
  json["record"] = record_json(record);
  json["warnings"] = all_warnings(record);
  return json;
}

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
  if (const std::string stall = stall_text(record); !stall.empty()) text += fmt::format("{:<14}{}\n", "stuck", stall);
  const char* title = "found";
  for (const std::string& finding : findings(record, figures.diagnosis))
    text += fmt::format("{:<14}{}\n", std::exchange(title, ""), finding);
  title = "limits";
  for (const LimitResult& limit : limit_results(record))
    text += fmt::format("{:<14}{}\n", std::exchange(title, ""), limit.text);
  add_waiting(text, record);
  if (record.emulated() != nullptr) {
    text += fmt::format("{:<14}{}: {}\n", "fidelity", fidelity.fidelity, explain_fidelity(record));
  }
  for (const std::string& reason : fidelity.reasons) text += fmt::format("{:<14}{}\n", "", reason);
  text += fmt::format("{:<14}{}\n", "completion", describe_completion(record));
  if (const std::string certified = certification_text(record); !certified.empty())
    text += fmt::format("{:<14}{}\n", "resolution", certified);
  title = "repetitions";
  for (const std::string& line : repetition_lines(record))
    text += fmt::format("{:<14}{}\n", std::exchange(title, ""), line);
  for (const auto& [name, line] : {std::pair("path", critical_path_line(record, figures.diagnosis)),
                                   std::pair("gap", waterfall_line(record, figures.diagnosis))})
    if (!line.empty()) text += fmt::format("{:<14}{}\n", name, line);
  if (const std::string band = band_text(record); !band.empty()) text += fmt::format("{:<14}{}\n", "band", band);
  if (const std::string what_if = what_if_text(record); !what_if.empty())
    text += fmt::format("{:<14}{}\n", "if free", what_if);
  if (const std::string models = models_text(record); !models.empty())
    text += fmt::format("{:<14}{}\n", "models", models);
  text += jobs_text(record, figures.diagnosis.shares);
  text += background_text(record);
  text += compute_text(record);
  if (const RecordedRun* run = principal_run(record)) add_bytes(text, run->end);
  if (record.emulated() != nullptr && record.emulated()->ended) add_transport(text, record.emulated()->end);
  add_failures(text, record);
  text += storms_text(record);
  add_round_trip(text, record);
  text += time_by_cause_text(record);
  add_operations(text, record, figures.operations);
  text += fmt::format("{:<14}{}\n", "report", (record.folder() / "report.html").string());
  return text;
}

}  // namespace rankwire
