#include "emulator/report/summary.h"

#include <algorithm>

#include "emulator/record/counters.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"

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
  for (const NamedCounter& counter : transport_counters()) {
    if (counter.field != &TransportCounters::stalls) add(counter.name, end.counters.*counter.field);
  }
  add("messages_duplicated", end.messages_duplicated);
  add("messages_lost", end.messages_lost);
  return json;
}

Json generator_json(const RecordedRun* run) {
  if (run == nullptr || !run->ended) {
    return {{"worst_stall_ps", nullptr}, {"stalls", nullptr}, {"slipped_ps", nullptr}, {"core_busy", nullptr}};
  }
  const TransportCounters& counters = run->end.counters;
  return {{"worst_stall_ps", counters.worst_stall.ps},
          {"stalls", counters.stalls},
          {"slipped_ps", counters.slipped.ps},
          {"core_busy", run->end.core_busy}};
}

Json latency_json(const RecordedRun* run) {
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

void add_bytes(std::string& text, const RunEnd& end) {
  const double wire = end.bytes.count == 0
                          ? 0
                          : 100.0 * static_cast<double>(end.bytes_wire.count) / static_cast<double>(end.bytes.count);
  text += fmt::format("{:<14}{} in {} messages: {} on the wire ({:.1f} %), {} local\n", "traffic", readable(end.bytes),
                      end.messages, readable(end.bytes_wire), wire, readable(end.bytes_local));
}

void add_transport(std::string& text, const RunEnd& end) {
  text += fmt::format("{:<14}{} packets retransmitted, {} NAKs, {} time-outs, {} CE marks\n", "transport",
                      end.counters.retransmitted, end.counters.naks, end.counters.timeouts, end.counters.ecn_ce_rx);
  if (end.messages_lost + end.messages_duplicated + end.counters.payload_errors != 0) {
    text += fmt::format("{:<14}{} lost, {} duplicated, {} with wrong payload\n", "messages", end.messages_lost,
                        end.messages_duplicated, end.counters.payload_errors);
  }
}

void add_slowest(std::string& text, const OperationStatistics& operations) {
  const auto worst = operations.worst();
  if (worst.empty()) return;
  text += "slowest operations against the reference\n";
  for (size_t i = 0; i < std::min<size_t>(worst.size(), 5); ++i) {
    const OperationRow& row = worst[i];
    const auto side = [](const std::optional<OperationTimes>& t) { return t ? readable(t->duration()) : "-"; };
    const auto ratio =
        row.emulated && row.reference ? ratio_of(row.emulated->duration(), row.reference->duration()) : std::nullopt;
    text +=
        fmt::format("  {:<28} {:<14} rank {:<5} iteration {:<4} {:>10} / {:>10}  {}\n", row.node.name, row.node.kind,
                    row.node.rank.value, row.iteration, side(row.emulated), side(row.reference), readable_ratio(ratio));
  }
}

}  // namespace

nlohmann::ordered_json summary(const RunReader& record) {
  const Verdict verdict = verdict_of(record);
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
  json["fidelity"] = fidelity.fidelity;
  json["fidelity_reasons"] = fidelity.reasons;
  json["bytes_wire"] = of_principal([](const RunEnd& end) { return end.bytes_wire.count; });
  json["bytes_local"] = of_principal([](const RunEnd& end) { return end.bytes_local.count; });
  json["ranks"] = ranks_json(record);
  json["messages"] = of_principal([](const RunEnd& end) { return end.messages; });
  json["bytes"] = of_principal([](const RunEnd& end) { return end.bytes.count; });
  json["emulated"] = completion_json(record.emulated());
  json["reference"] = completion_json(record.reference());
  json["ratio"] = ratio ? Json(*ratio) : Json(nullptr);
  json["transport"] = transport_json(record.emulated());
  json["generator"] = generator_json(record.emulated());
  json["message_completion_time"] = latency_json(record.emulated());
  json["record"] = record_json(record);
  json["warnings"] = all_warnings(record);
  return json;
}

std::string summary_table(const RunReader& record) {
  OperationStatistics operations(5);
  record.for_each_operation([&](const OperationRow& row) { operations.add(row); });
  return summary_table(record, operations);
}

std::string summary_table(const RunReader& record, const OperationStatistics& operations) {
  const Verdict verdict = verdict_of(record);
  const FidelityAssessment fidelity = assess_fidelity(record);
  std::string text =
      fmt::format("{:<14}{}{}\n", "verdict", verdict.verdict, verdict.reason.empty() ? "" : ": " + verdict.reason);
  if (fidelity.fidelity != "ok") text += fmt::format("{:<14}{}\n", "fidelity", fidelity.fidelity);
  for (const std::string& reason : fidelity.reasons) text += fmt::format("{:<14}{}\n", "", reason);
  const auto time = [](const RecordedRun* run) {
    const auto completion = completion_of(run);
    return completion ? readable(*completion) : std::string("-");
  };
  text += fmt::format("{:<14}{} emulated, {} reference, ratio {}\n", "completion", time(record.emulated()),
                      time(record.reference()), readable_ratio(completion_ratio(record)));
  if (const RecordedRun* run = principal_run(record)) add_bytes(text, run->end);
  if (record.emulated() != nullptr && record.emulated()->ended) add_transport(text, record.emulated()->end);
  add_slowest(text, operations);
  text += fmt::format("{:<14}{}\n", "report", (record.folder() / "report.html").string());
  return text;
}

}  // namespace rankwire
