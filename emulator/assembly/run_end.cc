#include "emulator/assembly/run_end.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "emulator/assembly/background.h"
#include "emulator/assembly/compute_model.h"
#include "emulator/assembly/impairments.h"

namespace rankwire {
namespace {

std::vector<FlowRow> flow_rows(const Setup& setup, std::span<const FlowCounters> flows) {
  std::vector<FlowRow> rows;
  rows.reserve(flows.size());
  for (const FlowCounters& counters : flows) {
    const Connection& connection = setup.plan.transport.connections[counters.connection.value];
    rows.push_back({connection,
                    connection.group.valid() ? setup.workload.groups[connection.group.value].name : std::string(),
                    counters});
  }
  return rows;
}

std::vector<RankNic> rank_nics(const Setup& setup) {
  std::vector<RankNic> nics;
  for (size_t rank = 0; rank < setup.placement.nic.size(); ++rank) {
    const Nic& nic = setup.placement.nics[setup.placement.nic[rank].value];
    nics.push_back({nic.id, nic.port, to_string(nic.mac), to_string(nic.ip), setup.placement.ranks[rank].host});
  }
  return nics;
}

std::vector<DetailRow> detail_rows(const Transport& transport) {
  std::vector<DetailRow> rows;
  for (const NamedCounter& counter : transport.details()) rows.push_back({std::string(counter.name), counter.value});
  return rows;
}

/// Some of each worker's.
std::vector<FailureRow> failure_rows(const Setup& setup, std::span<const Communication* const> communications,
                                     const Transport& transport) {
  std::vector<FailureRow> rows;
  for (const Communication* messages : communications) {
    for (const Event& event : messages->failures()) {
      rows.push_back({.connection = setup.plan.transport.connections[event.connection.value],
                      .operation = messages->operation_name(event),
                      .message = messages->message_text(event),
                      .reason = to_string(event.failure),
                      .state = transport.describe(event.connection)});
    }
  }
  return rows;
}

/// Of all workers.
std::vector<WrongMessagesRow> wrong_messages_rows(std::span<const Communication* const> communications) {
  std::map<std::string, uint64_t> all;
  for (const Communication* messages : communications) {
    for (const auto& [operation, count] : messages->wrong_messages()) all[operation] += count;
  }
  std::vector<WrongMessagesRow> rows;
  for (const auto& [operation, count] : all) rows.push_back({operation, count});
  return rows;
}

/// What gave the nodes their times, rank by rank.
void add_compute_times(const Setup& setup, const std::function<const ComputeTimes&(RankId)>& times_of, RunEnd& end) {
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank) {
    const ComputeTimes& times = times_of(RankId(rank));
    for (size_t m = 0; m < times.models.size(); ++m) {
      if (times.models[m].nodes == 0) continue;
      end.compute_times.push_back(
          {RankId(rank), to_string(static_cast<TimedBy>(m)), times.models[m].nodes, times.models[m].time});
    }
    if (times.jitter == Duration(0) && times.noise == Duration(0) && times.slowed == Duration(0)) continue;
    end.compute_variation.push_back({RankId(rank), times.jitter, times.noise, times.slowed});
  }
  end.stragglers = straggler_rows(setup);
}

void add_plan(const Setup& setup, RunEnd& end) {
  const PlannedTraffic traffic = planned_traffic(setup.workload, setup.plan, setup.config.workload.iterations);
  end.messages = traffic.messages;
  end.bytes = traffic.wire + traffic.local;
  end.bytes_wire = traffic.wire;
  end.bytes_local = traffic.local;
  end.rank_nics = rank_nics(setup);
}

void add_transport(const Setup& setup, const Transport& transport, RunEnd& end) {
  end.counters = transport.counters();
  end.details = detail_rows(transport);
  end.ports = transport.ports();
  end.latencies = latency_rows(transport.latencies(), end.ports);
  std::vector<uint32_t> queues(setup.config.ports.size());
  for (PortCounters& port : end.ports) {
    port.name = setup.config.ports[port.port.value].name;
    const uint32_t queue = queues[port.port.value]++;
    // Rows of a port are told apart by their names.
    if (queue > 0) port.name += fmt::format(" queue {}", queue);
  }
}

/// Turns of all workers count alike.
void add_workers(std::span<const WorkerTime> workers, RunEnd& end) {
  Histogram turns;
  for (const WorkerTime& worker : workers) {
    if (worker.total > Duration(0))
      end.core_busy.push_back(static_cast<double>(worker.busy.ps) / static_cast<double>(worker.total.ps));
    turns.merge(worker.turns);
  }
  turns.for_each_bucket([&end](const Histogram::Bucket& bucket) { end.turns.push_back(bucket); });
}

/// The engine sees every message, local ones included, and compares what the payload claims with what the plan says.
void add_messages(const CommunicationCounters& messages, RunEnd& end) {
  end.messages_lost = messages.sent > messages.delivered ? messages.sent - messages.delivered : 0;
  end.messages_duplicated = messages.duplicated;
  end.counters.messages_sent = messages.sent;
  end.counters.messages_delivered = messages.delivered;
  end.counters.messages_failed = messages.failed;
  end.counters.payload_errors = std::max(end.counters.payload_errors, messages.payload_errors);
}

/// A run that finished but broke a promise on the way has failed.
void judge(RunResult& result, const RunEnd& end) {
  if (result.verdict != Verdict::kOk) return;
  std::vector<std::string> broken;
  const auto forbid = [&](uint64_t count, const char* what) {
    if (count > 0) broken.push_back(fmt::format("{} {}", count, what));
  };
  forbid(end.messages_lost, "messages acknowledged but not delivered");
  forbid(end.messages_duplicated, "messages delivered twice");
  forbid(end.counters.payload_errors, "messages delivered with a wrong payload");
  forbid(end.counters.messages_failed, "messages failed");
  uint64_t wrong = 0;
  for (const BackgroundRow& row : end.background) wrong += row.payload_errors;
  forbid(wrong, "messages of the background delivered with a wrong payload");
  if (broken.empty()) return;
  result.verdict = Verdict::kFailed;
  result.reason = fmt::format("{}", fmt::join(broken, ", "));
  if (end.failures.empty()) return;
  const FailureRow& first = end.failures.front();
  result.reason +=
      fmt::format("; the first: {}: {} ({}); {}", first.message, first.reason, first.operation, first.state);
}

}  // namespace

RunEnd run_end(const Setup& setup, RunResult& result, RunOutcome outcome) {
  RunEnd end;
  end.per_rank = std::move(outcome.per_rank);
  if (!setup.workload.jobs.empty()) end.jobs = result.jobs;
  for (const Duration time : end.per_rank) end.completion = std::max(end.completion, time);
  add_workers(result.workers, end);
  if (outcome.planned) add_plan(setup, end);
  if (outcome.compute_times) add_compute_times(setup, outcome.compute_times, end);
  if (outcome.transport != nullptr) add_transport(setup, *outcome.transport, end);
  end.background = background_rows(outcome.background);
  if (!outcome.communications.empty()) {
    end.failures = failure_rows(setup, outcome.communications, *outcome.transport);
    end.wrong_messages = wrong_messages_rows(outcome.communications);
    end.impairments =
        impairment_rows(outcome.impairments, setup.plan, setup.background, *outcome.communications.front());
    end.impairment_rules = impairment_rule_rows(outcome.impairments);
  }
  add_messages(outcome.messages, end);
  if (outcome.is_part) {
    end.messages_lost = 0;
  } else {
    judge(result, end);
  }
  end.verdict = to_string(result.verdict);
  end.reason = result.reason;
  for (const std::string& line : result.waiting) end.reason += "\n" + line;
  return end;
}

void record_flows(const Setup& setup, const std::function<std::vector<FlowCounters>(ConnectionRange)>& flows_of,
                  RunRecorder::Run& record) {
  constexpr size_t kRowsAtOnce = 4096;
  constexpr uint32_t kFewest = 4096;
  const auto connections = static_cast<uint32_t>(setup.plan.transport.connections.size());
  const uint32_t part = std::max(kFewest, (connections + kFlowParts - 1) / kFlowParts);
  for (uint32_t begin = 0; begin < connections; begin += std::min(part, connections - begin)) {
    const std::vector<FlowCounters> counters = flows_of({begin, begin + std::min(part, connections - begin)});
    for (std::span<const FlowCounters> rest(counters); !rest.empty();
         rest = rest.subspan(std::min(kRowsAtOnce, rest.size())))
      record.flows(flow_rows(setup, rest.first(std::min(kRowsAtOnce, rest.size()))));
  }
}

}  // namespace rankwire
