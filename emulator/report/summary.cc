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
#include "emulator/report/collective_table.h"
#include "emulator/report/compute.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/device_counters.h"
#include "emulator/report/dilation.h"
#include "emulator/report/findings.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/hardware.h"
#include "emulator/report/hybrid.h"
#include "emulator/report/impairments.h"
#include "emulator/report/jobs.h"
#include "emulator/report/latency.h"
#include "emulator/report/limits.h"
#include "emulator/report/machines.h"
#include "emulator/report/models.h"
#include "emulator/report/queues.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/rates.h"
#include "emulator/report/repetitions.h"
#include "emulator/report/slack.h"
#include "emulator/report/slow_operations.h"
#include "emulator/report/stall.h"
#include "emulator/report/storms.h"
#include "emulator/report/time_shares.h"
#include "emulator/report/what_if.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

Json completion_json(std::optional<Duration> completion_time, const RecordedRun* run) {
  Json json = {{"completion_time_ps", nullptr}, {"per_rank_ps", nullptr}};
  if (!completion_time) return json;
  json["completion_time_ps"] = completion_time->ps;
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
  const auto ratio = predicted_ratio(record);

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
  json["emulated"] = completion_json(completion_of(record, record.emulated()), record.emulated());
  json["reference"] = completion_json(completion_of(record, record.reference()), record.reference());
  json["reference"]["band"] = band_json(record);
  const std::string note = missing_band_text(record);
  json["reference"]["band_note"] = note.empty() ? Json(nullptr) : Json(note);
  json["limits"] = limits_json(record);
  json["stall"] = stall_json(record);
  json["what_if"] = what_if_json(record);
  json["blame"] = blame_json(record, figures.diagnosis);
  json["diagnosis"] = diagnosis_json(record, figures.diagnosis);
  json["critical_path"] = critical_path_json(record, figures.diagnosis);
  json["slack"] = slack_json(figures.diagnosis);
  json["waterfall"] = waterfall_json(figures.diagnosis);
  json["without_causes"] = without_causes_json(record, figures.diagnosis);
  json["ratio"] = ratio ? Json(*ratio) : Json(nullptr);
  json["repetitions"] = repetitions_json(record);
  json["certification"] = certification_json(record);
  json["models"] = models_json(record);
  json["dilation"] = dilation_json(record);
  json["hybrid"] = hybrid_json(record);
  json["machines"] = machines_json(record);
  json["jobs"] = jobs_json(record, figures.diagnosis);
  json["background"] = background_json(record);
  json["collective"] = collective_json(figures.collective);
  json["requests"] = requests_json(figures.requests);
  json["transport"] = transport_json(record.emulated());
  json["transport_details"] = details_json(record.emulated());
  json["generator"] = generator_json(record.emulated());
  json["latency"] = packet_latency_json(record);
  json["message_completion_time"] = completion_time_json(record.emulated());
  json["time_by_cause"] = time_by_cause_json(record);
  json["slow_operations"] = slow_operations_json(record, figures.operations, figures.diagnosis);
  json["compute"] = compute_json(record);
  json["failures"] = failures_json(record);
  json["impairments"] = impairments_json(record);
  json["queues"] = queues_json(record);
  json["rates"] = rates_json(record);
  json["device_counters"] = device_counters_json(record);
  json["storms"] = storms_json(record);
  json["hardware"] = hardware_json(record);
  json["record"] = record_json(record);
  json["warnings"] = all_warnings(record);
  return json;
}

nlohmann::ordered_json summary_shape() {
  Json shape;
  for (const char* single : {"verdict", "reason", "reason_code", "fidelity", "bytes_wire", "bytes_local", "ranks",
                             "messages", "bytes", "ratio"})
    shape[single] = 0;
  for (const char* other : {"rankwire",
                            "config",
                            "fidelity_reasons",
                            "aggregators",
                            "limits",
                            "stall",
                            "what_if",
                            "blame",
                            "diagnosis",
                            "critical_path",
                            "slack",
                            "waterfall",
                            "without_causes",
                            "repetitions",
                            "certification",
                            "models",
                            "dilation",
                            "jobs",
                            "background",
                            "collective",
                            "requests",
                            "transport_details",
                            "latency",
                            "time_by_cause",
                            "slow_operations",
                            "compute",
                            "failures",
                            "impairments",
                            "queues",
                            "rates",
                            "storms",
                            "hardware",
                            "record",
                            "warnings",
                            "machines",
                            "device_counters",
                            "hybrid"})
    shape[other] = nullptr;
  shape["emulated"] = completion_json({}, nullptr);
  shape["reference"] = completion_json({}, nullptr);
  for (const char* name : {"band", "band_note"}) shape["reference"][name] = nullptr;
  shape["transport"] = transport_json(nullptr);
  shape["generator"] = generator_json(nullptr);
  for (const char* name : {"count", "p50_ps", "p95_ps", "p99_ps", "p999_ps", "max_ps"})
    shape["message_completion_time"][name] = nullptr;
  return shape;
}

}  // namespace rankwire
