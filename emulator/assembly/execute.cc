#include "emulator/assembly/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "emulator/assembly/compute_model.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/verbs_ports.h"
#include "emulator/simulator/network_model.h"
#include "emulator/symmetry/folded_run.h"

namespace rankwire {
namespace {

void check_connections(const Setup& setup, std::span<const ConnectFailure> failures) {
  if (failures.empty()) return;
  std::set<ConnectionId> failed;  // a transport may name one for each of its ends
  for (const ConnectFailure& failure : failures) failed.insert(failure.connection);
  const Connection& c = setup.plan.transport.connections[failures.front().connection.value];
  fail_run("{} of {} connections failed; the first, from rank {} to rank {}: {}", failed.size(),
           setup.plan.transport.connections.size(), c.source.value, c.destination.value, failures.front().reason);
}

/// Brings all connections up.
void connect(const Setup& setup, const Execution& execution, const std::atomic<bool>& interrupted) {
  Transport& transport = execution.transport;
  // A stopped run has nothing to say about connections that it did not wait for.
  const auto check = [&](std::span<const ConnectFailure> failures) {
    if (!interrupted.load()) check_connections(setup, failures);
  };
  const std::vector<EndPoint> ends = transport.prepare(setup.plan.transport);
  check(transport.connect(ends));
  const std::span<Device* const> devices =
      execution.testbed != nullptr ? execution.testbed->devices() : std::span<Device* const>();
  check(establish(transport, devices, execution.clock, setup.config.run.deadline, interrupted));
}

std::vector<FlowRow> flow_rows(const Setup& setup, std::span<const FlowCounters> flows) {
  std::vector<FlowRow> rows;
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
  for (const NicId id : setup.placement.nic) {
    const Nic& nic = setup.placement.nics[id.value];
    nics.push_back({nic.id, nic.port, to_string(nic.mac), to_string(nic.ip)});
  }
  return nics;
}

std::vector<DetailRow> detail_rows(const Transport& transport) {
  std::vector<DetailRow> rows;
  for (const NamedCounter& counter : transport.details()) rows.push_back({std::string(counter.name), counter.value});
  return rows;
}

std::vector<FailureRow> failure_rows(const Setup& setup, const Communication& messages, const Transport& transport) {
  std::vector<FailureRow> rows;
  for (const Event& event : messages.failures()) {
    rows.push_back({.connection = setup.plan.transport.connections[event.connection.value],
                    .operation = messages.operation_name(event),
                    .message = messages.message_text(event),
                    .reason = to_string(event.failure),
                    .state = transport.describe(event.connection)});
  }
  return rows;
}

/// What gave the nodes their times, rank by rank.
template <class TimesOf>
void add_compute_times(const Setup& setup, TimesOf times_of, RunEnd& end) {
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

/// What every run has to tell.
RunEnd run_end(const Setup& setup, const RunResult& result, const CommunicationCounters& messages,
               std::vector<Duration> rank_times, const TransportCounters& counters,
               std::span<const FlowCounters> flows) {
  const uint64_t iterations = setup.config.workload.iterations;
  RunEnd end{
      .verdict = to_string(result.verdict),
      .reason = result.reason,
      .completion = Duration(0),
      .per_rank = std::move(rank_times),
      .messages = setup.plan.messages_per_iteration * iterations,
      .bytes = Bytes((setup.plan.bytes_wire.count + setup.plan.bytes_local.count) * static_cast<int64_t>(iterations)),
      .bytes_wire = Bytes(setup.plan.bytes_wire.count * static_cast<int64_t>(iterations)),
      .bytes_local = Bytes(setup.plan.bytes_local.count * static_cast<int64_t>(iterations)),
      .messages_lost = messages.sent > messages.delivered ? messages.sent - messages.delivered : 0,
      .messages_duplicated = messages.duplicated,
      .counters = counters,
      .flows = flow_rows(setup, flows),
      .rank_nics = rank_nics(setup)};
  // The engine sees every message, local ones included, and compares what the payload claims with what the plan says.
  end.counters.messages_sent = messages.sent;
  end.counters.messages_delivered = messages.delivered;
  end.counters.messages_failed = messages.failed;
  end.counters.payload_errors = std::max(end.counters.payload_errors, messages.payload_errors);
  for (Duration time : end.per_rank) end.completion = std::max(end.completion, time);
  if (result.total > Duration(0)) {
    end.core_busy = {static_cast<double>(result.busy.ps) / static_cast<double>(result.total.ps)};
  }
  for (const std::string& line : result.waiting) end.reason += "\n" + line;
  return end;
}

RunEnd run_end(const Setup& setup, const RunResult& result, const Engine& engine, const Transport& transport) {
  RunEnd end = run_end(setup, result, engine.communication().counters(), engine.rank_times(), transport.counters(),
                       transport.flows());
  end.details = detail_rows(transport);
  end.ports = transport.ports();
  end.failures = failure_rows(setup, engine.communication(), transport);
  add_compute_times(
      setup, [&](RankId rank) { return engine.compute_times(rank); }, end);
  end.latencies = latency_rows(transport.latencies(), end.ports);
  for (PortCounters& port : end.ports) port.name = setup.config.ports[port.port.value].name;
  return end;
}

uint64_t operations(const Setup& setup, const Workload& workload) {
  uint64_t count = 0;
  for (const RankTrace& trace : workload.ranks) {
    if (trace.streamed) count += trace.streamed->operations;
    for (const Node& node : trace.nodes) count += node.kind != NodeKind::kNone;
  }
  return count * setup.config.workload.iterations;
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
  if (broken.empty()) return;
  result.verdict = Verdict::kFailed;
  result.reason = fmt::format("{}", fmt::join(broken, ", "));
  if (end.failures.empty()) return;
  const FailureRow& first = end.failures.front();
  result.reason +=
      fmt::format("; the first: {}: {} ({}); {}", first.message, first.reason, first.operation, first.state);
}

/// Runs the quotient and tells of the whole run. Empty when it cannot stand for it; nothing is recorded then.
std::optional<RunResult> execute_folded(const Setup& setup, const Quotient& quotient, RecordSink& sink,
                                        RunRecorder& recorder, const RunControl& control) {
  FoldedRun run(quotient, engine_options(setup.config));
  {
    const auto watched = control.watched(to_string(Fidelity::kReference), operations(setup, quotient.workload),
                                         [&] { return run.engine().nodes_completed(); });
    if (!run.run(run_options(setup.config), control.interrupted)) return std::nullopt;
  }
  run.tell(sink);
  RunResult result = run.result();
  RunEnd end = run_end(setup, result, run.messages(), run.rank_times(), TransportCounters{}, run.flows());
  add_compute_times(
      setup, [&](RankId rank) { return run.compute_times(rank); }, end);
  judge(result, end);
  recorder.end(end);
  return result;
}

}  // namespace

RunResult execute(const Setup& setup, const Execution& execution, RunRecorder& recorder, const RunControl& control) {
  RecordSink& sink = recorder.begin({.fidelity = execution.fidelity,
                                     .clock = execution.clock_name,
                                     .ranks = static_cast<uint32_t>(setup.workload.ranks.size()),
                                     .seed = setup.config.seed,
                                     .model = execution.model});
  if (execution.quotient != nullptr && !sink.wants_messages()) {
    if (const auto result = execute_folded(setup, *execution.quotient, sink, recorder, control)) return *result;
  }
  const std::span<const VerbsPort> verbs_ports =
      execution.testbed != nullptr ? execution.testbed->verbs_ports() : std::span<const VerbsPort>();
  const HardwareReading before = read_hardware(verbs_ports);
  EngineOptions options = engine_options(setup.config);
  options.variation = setup.variation.get();
  Engine engine(setup.workload, setup.plan, options, sink);
  connect(setup, execution, control.interrupted);
  const auto watched = control.watched(to_string(execution.fidelity), operations(setup, setup.workload),
                                       [&] { return engine.nodes_completed(); });
  const RunRecorder::Following following(recorder, execution.testbed != nullptr ? execution.testbed->live() : nullptr);
  execution.clock.start();
  if (execution.testbed != nullptr) execution.testbed->start(execution.clock);
  const std::span<Device* const> devices =
      execution.testbed != nullptr ? execution.testbed->devices() : std::span<Device* const>();
  RunResult result =
      run(engine, execution.transport, devices, execution.clock, run_options(setup.config), control.interrupted);
  RunEnd end = run_end(setup, result, engine, execution.transport);
  end.impairments = impairment_rows(execution.impairments, setup.plan, engine.communication());
  end.impairment_rules = impairment_rule_rows(execution.impairments);
  judge(result, end);
  end.verdict = to_string(result.verdict);
  if (end.reason.empty()) end.reason = result.reason;
  execution.transport.close();
  // Looking at a device takes memory that may be locked, of which the run's own is free by now.
  const HardwareReading after = read_hardware(verbs_ports);
  end.hardware_counters = counter_rows(before, after);
  end.port_settings = setting_rows(before, after);
  if (execution.testbed != nullptr) {
    for (PortSettingRow& setting : execution.testbed->settings()) end.port_settings.push_back(std::move(setting));
    for (PortCounters& port : execution.testbed->finish()) end.ports.push_back(std::move(port));
    end.queue_samples = execution.testbed->queue_samples();
    end.storms = execution.testbed->storms();
    if (const uint64_t lost = execution.testbed->storms_lost(); lost > 0)
      recorder.warning(fmt::format("{} more pause storms began than the {} in the record", lost, end.storms.size()));
    if (const std::string diagnosis = execution.testbed->diagnosis(); !diagnosis.empty()) {
      result.reason += "\n" + diagnosis, end.reason += "\n" + diagnosis;
    }
  }
  recorder.end(end);
  return result;
}

RunResult execute_timed(const Setup& setup, const CommunicationTimes& times, const char* model, RunRecorder& recorder,
                        const RunControl& control) {
  RecordSink& sink = recorder.begin({.fidelity = Fidelity::kReference,
                                     .clock = "virtual",
                                     .ranks = static_cast<uint32_t>(setup.workload.ranks.size()),
                                     .seed = setup.config.seed,
                                     .model = model});
  EngineOptions options = engine_options(setup.config);
  options.variation = setup.variation.get();
  options.times = &times;
  const Plan nothing;
  Engine engine(setup.workload, nothing, options, sink);
  NetworkModel silence(Network{});
  silence.connect(silence.prepare(nothing.transport));
  VirtualClock clock;
  RunResult result;
  {
    const auto watched =
        control.watched(model, operations(setup, setup.workload), [&] { return engine.nodes_completed(); });
    result = run(engine, silence, {}, clock, run_options(setup.config), control.interrupted);
  }
  RunEnd end = run_end(setup, result, CommunicationCounters{}, engine.rank_times(), TransportCounters{}, {});
  recorder.end(end);
  return result;
}

}  // namespace rankwire
