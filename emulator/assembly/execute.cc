#include "emulator/assembly/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/affinity.h"
#include "emulator/assembly/background.h"
#include "emulator/assembly/connecting.h"
#include "emulator/assembly/live_run.h"
#include "emulator/assembly/lost_links.h"
#include "emulator/assembly/predicted_work.h"
#include "emulator/assembly/rate_sampling.h"
#include "emulator/assembly/run_end.h"
#include "emulator/assembly/stall_rows.h"
#include "emulator/assembly/verbs_ports.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/record/message_join.h"
#include "emulator/simulator/astra_simulation.h"
#include "emulator/simulator/network_model.h"
#include "emulator/symmetry/folded_run.h"
#include "emulator/symmetry/message_sample.h"

namespace rankwire {
namespace {

/// The loop knows only that it was to stop.
void tell_who_stopped(const RunControl& control, RunResult& result) {
  if (result.verdict == Verdict::kInterrupted) result.reason = control.stop_reason();
}

/// What the loop drives.
std::span<Device* const> devices_of(const Execution& execution) {
  return execution.testbed != nullptr ? execution.testbed->devices() : std::span<Device* const>();
}

std::unique_ptr<WorkerEngines> engines_of(const Setup& setup, const Execution& execution, const WorkerShares* shares,
                                          const RunRecorder::Run& record) {
  EngineOptions options = engine_options(setup.config);
  options.variation = execution.variation != nullptr ? execution.variation : setup.variation.get();
  return std::make_unique<WorkerEngines>(setup, options, shares, record);
}

/// Of this machine's ranks.
uint64_t own_operations(const Setup& setup, const Execution& execution) {
  if (execution.machine == nullptr) return planned_operations(setup.config, setup.workload);
  uint64_t count = 0;
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank)
    if (execution.machine->ranks()[rank]) count += planned_operations(setup.config, setup.workload, RankId(rank));
  return count;
}

uint64_t operations(const AstraProgram& program) {
  uint64_t count = 0;
  for (const AstraRank& rank : program.ranks) {
    count += static_cast<uint64_t>(std::ranges::count_if(
        rank.nodes, [](const AstraNode& node) { return node.work != AstraNode::Work::kNothing; }));
  }
  return count * program.iterations;
}

Verdict verdict_of(AstraVerdict verdict) {
  switch (verdict) {
    case AstraVerdict::kOk:
      return Verdict::kOk;
    case AstraVerdict::kFailed:
      return Verdict::kFailed;
    case AstraVerdict::kStalled:
      return Verdict::kStalled;
    case AstraVerdict::kInterrupted:
      return Verdict::kInterrupted;
  }
  return Verdict::kFailed;
}

MessageSummary message_summary(const Setup& setup, const MessageSample& sample) {
  const Histogram total = sample.total();
  MessageSummary summary{.total = latency_of(total), .buckets = buckets_of(total)};
  sample.for_each_flow([&](const SampledFlow& flow) {
    const Connection& c = setup.plan.transport.connections[flow.connection.value];
    const uint32_t group = c.group.valid() ? c.group.value : uint32_t{MessageId::kPointToPoint};
    const MessageFlow key{c.job.value, group, c.source.value, c.destination.value, c.channel, c.control};
    summary.flows.emplace_back(key, latency_of(flow.histogram));
  });
  std::ranges::sort(summary.flows, {}, [](const auto& flow) { return flow.first; });
  for (const SampledMessage& m : sample.slowest(setup.workload, setup.plan)) {
    JoinedMessage& kept = summary.kept.emplace_back();
    kept.id = m.id, kept.bytes = m.bytes;
    kept.posted = m.posted, kept.acked = m.acked, kept.delivered = m.delivered;
  }
  return summary;
}

RunStart reference_start(const Setup& setup, size_t ranks, const char* model) {
  return {.fidelity = Fidelity::kReference,
          .clock = "virtual",
          .ranks = static_cast<uint32_t>(ranks),
          .seed = setup.config.seed,
          .rows = planned_rows(setup),
          .model = model};
}

/// What a worker's thread has while it runs.
struct WorkerStay {
  std::shared_ptr<void> of_testbed;
  std::optional<PinnedThread> pinned;
};

/// What a worker says when somebody asks who waits for whom.
std::vector<std::string> answer_lines(const Execution& execution, const WorkerEngines& engines, uint32_t worker,
                                      Time now, std::span<const std::string> waiting) {
  std::vector<std::string> lines{fmt::format(
      "{}{} run{} at {:.6g} s: {} operations have ended; {}", to_string(execution.fidelity),
      engines.count() > 1 ? fmt::format(" (worker {})", worker) : "", ordinal(execution.repetition),
      static_cast<double>(now.ps) / 1e12, engines.nodes_completed(), waiting.empty() ? "nobody waits" : "waiting:")};
  for (const std::string& line : waiting) lines.push_back("  " + line);
  return lines;
}

/// The workers of all machines are one team as long as this lives.
class JoinedTeam {
 public:
  JoinedTeam(MachineRun* machine, Crew& crew, WorkerEngines& engines) : machine_(machine) {
    if (machine != nullptr) machine->begin(crew.team(), engines.iterations());
  }
  ~JoinedTeam() {
    if (machine_ != nullptr) machine_->end();
  }
  JoinedTeam(const JoinedTeam&) = delete;
  JoinedTeam& operator=(const JoinedTeam&) = delete;

 private:
  MachineRun* const machine_;
};

RunResult run_workers(const Setup& setup, const Execution& execution, WorkerEngines& engines,
                      WorkerBackground& background, const RunControl& control) {
  Testbed* const testbed = execution.testbed;
  const Workers* const told = execution.workers;
  const auto enter = [&](uint32_t worker) -> std::shared_ptr<void> {
    auto stay = std::make_shared<WorkerStay>();
    if (worker > 0) stay->of_testbed = testbed->enter_thread();
    if (!told->cpus.empty()) stay->pinned.emplace(told->cpus[worker]);
    return stay;
  };
  const std::vector<LiveObserver::Route> live_routes = live_routes_of(setup, execution.live);
  std::deque<LiveObserver> observers;
  std::vector<Worker> workers;
  for (uint32_t i = 0; i < engines.count(); ++i) {
    Worker& worker = workers.emplace_back(Worker{&engines.of_worker(i), &execution.transport});
    if (told != nullptr && told->several()) worker.transport = told->transports[i];
    if (told != nullptr) worker.enter = [&enter, i] { return enter(i); };
    worker.background = background.of_worker(i);
    if (testbed != nullptr) worker.devices = testbed->devices_of(i);
    if (execution.live == nullptr) continue;
    worker.live =
        &observers.emplace_back(*execution.live, i, *worker.engine, *worker.transport, live_routes, worker.background);
  }
  Crew crew(std::move(workers), execution.machine != nullptr ? 1 : 0);
  const std::atomic<uint32_t> nothing{0};
  const WaitInquiry inquiry{control.asked != nullptr ? *control.asked : nothing,
                            [&](uint32_t worker, Time now, std::span<const std::string> waiting) {
                              control.answer(answer_lines(execution, engines, worker, now, waiting));
                            }};
  RunOptions options = run_options(setup.config);
  options.spent = execution.spent;
  options.held = control.held;
  if (control.asked != nullptr) options.inquiry = &inquiry;
  const JoinedTeam joined(execution.machine, crew, engines);
  execution.clock.start();
  if (execution.begun) execution.begun();
  if (testbed != nullptr) testbed->start(execution.clock);
  return crew.run([&](ConnectionId connection) { return execution.transport.describe(connection); }, execution.clock,
                  options, control.interrupted);
}

/// What stands behind the transport, which is closed.
void add_testbed(Testbed& testbed, RunResult& result, RunRecorder::Run& record, RunEnd& end) {
  for (PortSettingRow& setting : testbed.settings()) end.port_settings.push_back(std::move(setting));
  for (PortCounters& port : testbed.finish()) end.ports.push_back(std::move(port));
  end.queue_samples = testbed.queue_samples();
  if (end.queue_samples && end.queue_samples->lost > 0)
    record.warning(fmt::format(
        "{} samples of queues are not in the record, which has no row for them: raise record.fabric_rows, to two for "
        "each queue at least",
        end.queue_samples->lost));
  end.storms = testbed.storms();
  if (const uint64_t lost = testbed.storms_lost(); lost > 0)
    record.warning(fmt::format("{} more pause storms began than the {} in the record", lost, end.storms.size()));
  if (const std::string diagnosis = testbed.diagnosis(); !diagnosis.empty())
    result.reason += "\n" + diagnosis, end.reason += "\n" + diagnosis;
}

RunResult end_unconnected(const Setup& setup, const Execution& execution, std::span<const ConnectFailure> failures,
                          RunRecorder::Run& record) {
  RunResult result;
  RunEnd end = unconnected_end(setup, execution.transport, failures, result);
  record_flows(
      setup, [&](ConnectionRange range) { return execution.transport.flows_of(range); }, record);
  execution.transport.close();
  if (execution.testbed != nullptr) add_testbed(*execution.testbed, result, record, end);
  tell_lost_links(setup, result, end);
  record.end(end);
  return result;
}

}  // namespace

std::string ordinal(const Repetition& repetition) {
  return repetition.planned > 1 ? fmt::format(" {} of {}", repetition.number, repetition.planned) : "";
}

RunResult execute(const Setup& setup, const Execution& execution, RunRecorder::Run& record, const RunControl& control) {
  const Workers* const workers = execution.workers;
  const WorkerShares* const shares = workers != nullptr && workers->shares.parts() > 1 ? &workers->shares : nullptr;
  record.begin({.fidelity = execution.fidelity,
                .clock = execution.clock_name,
                .ranks = static_cast<uint32_t>(setup.workload.ranks.size()),
                .seed = setup.config.seed,
                .shards = shares != nullptr ? shares->workers() : 1,
                .rows = planned_rows(setup),
                .model = execution.model,
                .repetition = execution.repetition});
  const std::span<const VerbsPort> verbs_ports =
      execution.testbed != nullptr ? execution.testbed->verbs_ports() : std::span<const VerbsPort>();
  const HardwareReading before = read_hardware(verbs_ports);
  const std::unique_ptr<WorkerEngines> made = engines_of(setup, execution, shares, record);
  WorkerEngines& engines = *made;
  WorkerBackground background(setup, shares);
  const std::vector<ConnectFailure> failures = connect(setup, execution, devices_of(execution), control.interrupted);
  if (!failures.empty()) return end_unconnected(setup, execution, failures, record);
  const PredictedWork predicted(setup);
  WatchedRun at_work{.label = to_string(execution.fidelity) + ordinal(execution.repetition),
                     .operations = own_operations(setup, execution),
                     .done = [&] { return engines.nodes_completed(); }};
  if (predicted.is_known() && execution.machine == nullptr)
    at_work.share = [&] { return predicted.share_of(engines.work_done()); };
  const auto watched = control.watched(std::move(at_work));
  LiveRates live_rates(execution.rates, setup.plan.transport);
  const RunRecorder::Following following(record, {execution.testbed != nullptr ? execution.testbed->live() : nullptr,
                                                  execution.rates.empty() ? nullptr : &live_rates, execution.beside});
  RunResult result = run_workers(setup, execution, engines, background, control);
  if (execution.machine == nullptr) tell_who_stopped(control, result);
  result.jobs = engines.job_spans();
  std::optional<StallRow> stall;  // of which the machines of a run over several have parts
  if (execution.machine != nullptr) execution.machine->stopped(result, engines, execution.transport);
  if (execution.machine == nullptr) stall = stall_row(setup, result, engines, execution.transport);
  drain(execution.transport, devices_of(execution), execution.clock);
  record_flows(
      setup, [&](ConnectionRange range) { return execution.transport.flows_of(range); }, record);
  RunEnd end =
      run_end(setup, result,
              {.per_rank = engines.rank_times(),
               .compute_times = [&](RankId rank) -> const ComputeTimes& { return engines.compute_times(rank); },
               .messages = engines.messages(),
               .transport = &execution.transport,
               .communications = engines.communications(),
               .impairments = execution.impairments,
               .background = background.counters(),
               .is_part = execution.machine != nullptr});
  end.stall = std::move(stall);
  for (const std::string& finding :
       background_findings(setup.background, background.counters(), Time() + (result.total - result.held),
                           setup.config.run.stall_timeout))
    record.warning(finding);
  if (result.held > Duration(0))
    record.warning(
        fmt::format("nothing was posted for {:.6g} s of the run, while somebody held it: times and rates have "
                    "that in them",
                    static_cast<double>(result.held.ps) / 1e12));
  end.rates = rate_sampling(execution.rates, setup.plan.transport);
  if (execution.complete) execution.complete(end);
  if (end.rates && end.rates->lost > 0)
    record.warning(fmt::format(
        "{} samples of rates are not in the record, which has no row for them: raise record.rate_rows, to one for each "
        "port and queue pair of a worker at least",
        end.rates->lost));
  execution.transport.close();
  // Looking at a device takes memory that may be locked, of which the run's own is free by now.
  const HardwareReading after = read_hardware(verbs_ports);
  end.hardware_counters = counter_rows(before, after);
  end.port_settings = setting_rows(before, after);
  if (execution.testbed != nullptr) add_testbed(*execution.testbed, result, record, end);
  tell_lost_links(setup, result, end);
  if (execution.machine != nullptr) execution.machine->lost(end);
  record.end(end);
  result.completion = end.completion;
  return result;
}

RunResult execute_captured(const Setup& setup, const Execution& execution, const char* capture,
                           RunRecorder::Run& record, const RunControl& control) {
  std::optional<RunResult> result;
  try {
    result = execute(setup, execution, record, control);
  } catch (const Error&) {
    execution.transport.close();
    execution.testbed->finish();
    try {
      execution.testbed->complete_capture();
    } catch (const Error&) {  // the first one says more
    }
    throw;
  }
  if (const uint64_t left_out = execution.testbed->complete_capture(); left_out > 0)
    record.warning(
        fmt::format("{} lacks the last {} frames, for which record.capture was too small", capture, left_out));
  return std::move(*result);
}

std::optional<RunResult> execute_folded(const Setup& setup, const Quotient& quotient, const char* model,
                                        const FoldedQuestions& questions, RunRecorder::Run& record,
                                        const RunControl& control) {
  std::optional<MessageSample> sample;
  if (setup.config.messages == MessageRecording::kSampled)
    sample.emplace(quotient, MessageSample::Limits{MessageJoin::kMaxFlows, RecorderOptions().slowest});
  FoldedRun run(quotient, engine_options(setup.config), sample ? &*sample : nullptr, questions.jobs);
  {
    const auto watched = control.watched({.label = to_string(Fidelity::kReference),
                                          .operations = planned_operations(setup.config, quotient.workload),
                                          .done = [&] { return run.engine().nodes_completed(); }});
    if (!run.run(run_options(setup.config), control.interrupted)) return std::nullopt;
  }
  run.tell(record.begin(reference_start(setup, setup.workload.ranks.size(), model)));
  if (sample) record.messages(message_summary(setup, *sample));
  RunResult result = run.result();
  record_flows(
      setup, [&](ConnectionRange range) { return run.flows_of(range); }, record);
  RunEnd end = run_end(setup, result,
                       {.per_rank = run.rank_times(),
                        .compute_times = [&](RankId rank) -> const ComputeTimes& { return run.compute_times(rank); },
                        .messages = run.messages()});
  if (questions.shared_links) end.shared_links = questions.shared_links(run.shared());
  record.end(end);
  result.completion = end.completion;
  return result;
}

RunResult execute_timed(const Setup& setup, const CommunicationTimes& times, const char* model,
                        RunRecorder::Run& record, const RunControl& control) {
  RecordSink& sink = record.begin(reference_start(setup, setup.workload.ranks.size(), model));
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
        control.watched({.label = model, .operations = planned_operations(setup.config, setup.workload), .done = [&] {
                           return engine.nodes_completed();
                         }});
    result = run(engine, silence, {}, clock, run_options(setup.config), control.interrupted);
    result.jobs = engine.job_spans();
    tell_who_stopped(control, result);
  }
  const RunEnd end = run_end(
      setup, result, {.per_rank = engine.rank_times(), .compute_times = [&](RankId rank) -> const ComputeTimes& {
                        return engine.compute_times(rank);
                      }});
  result.completion = end.completion;
  record.end(end);
  return result;
}

RunResult execute_astra(const Setup& setup, RunRecorder::Run& record, const RunControl& control) {
  const AstraProgram& program = setup.astra->workload.program;
  RecordSink& sink = record.begin(reference_start(setup, program.ranks.size(), to_string(SimulationFidelity::kAstra)));
  AstraSimulation simulation(setup.astra->model, program, sink, {});
  AstraResult simulated;
  {
    const auto watched =
        control.watched({.label = to_string(Fidelity::kReference), .operations = operations(program), .done = [&] {
                           return simulation.nodes_completed();
                         }});
    simulated = simulation.run(control.interrupted);
  }
  RunResult result;
  result.verdict = verdict_of(simulated.verdict);
  result.reason = simulated.reason, result.waiting = simulated.waiting;
  tell_who_stopped(control, result);
  const RunEnd end = run_end(setup, result, {.per_rank = std::move(simulated.per_rank), .planned = false});
  result.total = result.completion = end.completion;
  record.end(end);
  return result;
}

}  // namespace rankwire
