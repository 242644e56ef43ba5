// What a prepared run has in virtual time: the twin, the models of `simulation.fidelity`, and what follows from them.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/on_threads.h"
#include "emulator/assembly/alpha_beta.h"
#include "emulator/assembly/ensemble.h"
#include "emulator/assembly/ensemble_sharing.h"
#include "emulator/assembly/execute.h"
#include "emulator/assembly/flow_run.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/jobs_alone.h"
#include "emulator/assembly/machine_stop.h"
#include "emulator/assembly/nic_network.h"
#include "emulator/assembly/rate_sampling.h"
#include "emulator/assembly/real_time_transports.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/run.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/assembly/what_if.h"
#include "emulator/engine/node_variation.h"
#include "emulator/record/reference_band.h"

namespace rankwire {
namespace {

/// What made it fail says more than that it cannot be recorded.
void fail_quietly(RunRecorder::Run& record, const std::optional<RunStart>& start, const std::string& reason) {
  try {
    record.fail(start, reason);
  } catch (const std::exception&) {
  }
}

}  // namespace

/// What a run with one job at work says is its time alone, too. Of a run that did not end well there is nothing to
/// compare.
std::exception_ptr PreparedRun::record_jobs_alone(std::span<const CompletedRun> runs, const MedianRun& median,
                                                  uint32_t threads, const RunControl& control) {
  if (setup_.workload.jobs.empty() || !all_ok(runs) || runs.empty()) return nullptr;
  const SimulationFidelity model = alone_model(setup_.config);
  const auto same = std::ranges::find(runs, to_string(model), &CompletedRun::model);
  const CompletedRun& together = same == runs.end() ? runs.front() : *same;
  const bool is_median = median.variation && model == SimulationFidelity::kFlow;
  const std::vector<JobSpan>& jobs = is_median ? median.jobs : together.result.jobs;
  const FlowVariant variant = is_median ? median.variant() : FlowVariant{.variation = setup_.variation.get()};
  const auto at_work = [](const JobSpan& span) { return span.begin.has_value(); };
  if (std::ranges::count_if(jobs, at_work) != 1 || !setup_.background.empty() || has_failures(setup_.config) ||
      same == runs.end()) {
    const JobsAlone alone = run_jobs_alone(setup_, model, jobs, variant, threads, control);
    recorder_->jobs_alone(alone.jobs);
    return alone.error;
  }
  const auto only = std::ranges::find_if(jobs, at_work);
  if (const std::optional<Duration> completion = only->completion()) {
    const JobAlone alone{.job = JobId(static_cast<uint32_t>(only - jobs.begin())),
                         .model = to_string(model),
                         .completion = *completion,
                         .unharmed = {}};
    recorder_->jobs_alone({&alone, 1});
  }
  return nullptr;
}

/// What runs in virtual time, behind `runs`.
void PreparedRun::run_models(uint32_t threads, const RunControl& control, std::vector<CompletedRun>& runs) {
  const std::vector<VirtualRun> models = virtual_runs();
  std::vector<RunRecorder::Run> records;
  for (size_t i = 0; i < models.size(); ++i) records.push_back(recorder_->next_run());
  const size_t first = runs.size();
  runs.resize(first + models.size());
  std::vector<std::string> thrown(models.size());
  const std::exception_ptr error = on_threads(threads, models.size(), [&](size_t i) {
    try {
      runs[first + i] = run_model(models[i], records[i], control);
    } catch (const std::exception& why) {
      thrown[i] = why.what();
      fail_quietly(records[i], {}, thrown[i]);
      throw;
    }
  });
  if (!error) return;
  // One that threw before it began is in the record beside others. Of what never began at all there is no record.
  for (size_t i = 0; i < models.size() && recorder_->has_begun(); ++i)
    if (!thrown[i].empty()) fail_quietly(records[i], start_of(models[i]), thrown[i]);
  std::rethrow_exception(error);
}

/// Where groups keep in step in the single run of `flow` as they do in no network, it is far from what the model says
/// with the smallest differences. Then the member at the median is recorded, too, as what all else is compared with. So
/// it is where each size of a collective is a result of its own: the single run has small ones without
/// acknowledgements.
PreparedRun::MedianRun PreparedRun::record_median(std::span<const CompletedRun> runs, const Ensemble& ensemble,
                                                  const RunControl& control) {
  const auto reference = std::ranges::find(runs, Fidelity::kReference, &CompletedRun::fidelity);
  if (reference == runs.end() || reference->model != kFlowModel || ensemble.completions.empty()) return {};
  const ReferenceBand band = band_of(ensemble.completions);
  const std::optional<GenerateConfig>& generated = setup_.config.workload.generate;
  const bool is_measured = generated && generated->kind == GeneratedKind::kCollective;
  if (!is_measured && !band.is_far(reference->result.completion)) return {};
  const auto median = std::ranges::find(ensemble.completions, band.median) - ensemble.completions.begin();
  const uint32_t member = ensemble.members[static_cast<size_t>(median)];
  MedianRun run{.variation = member_variation(setup_, member), .nics = ensemble.nics, .jobs = {}};
  RunRecorder::Run record = recorder_->next_run();
  RunResult result = execute_flow(setup_, run.variant(), kMedianOfFlow, record, control);
  if (result.verdict != Verdict::kOk) return {};
  run.jobs = std::move(result.jobs);
  return run;
}

/// What follows from these runs. `stop`: what `control` is of; null: there is one machine.
void PreparedRun::run_further(std::span<const CompletedRun> runs, uint32_t threads, const RunControl& control,
                              const MachineStop* stop) {
  std::exception_ptr error;
  MedianRun median;
  size_t members_known = 0, members_planned = 0;
  const auto reference = std::ranges::find(runs, Fidelity::kReference, &CompletedRun::fidelity);
  const bool has_reference = reference != runs.end() && reference->result.verdict == Verdict::kOk;
  if (const uint32_t members = ensemble_members(setup_); members > 0 && has_reference) {
    const bool is_told = setup_.config.simulation.ensemble.has_value();
    const Ensemble ensemble = is_told ? run_ensemble(setup_, members, threads, control, machines_)
                                      : run_affordable_ensemble(setup_, kAutoWork, threads, control, machines_);
    recorder_->ensemble(ensemble.completions);
    recorder_->ensemble_ranks(ensemble.per_rank);
    recorder_->ensemble_operations(ensemble.operations);
    error = ensemble.error;
    members_known = ensemble.members.size(), members_planned = ensemble.planned;
    if (machines_ != nullptr) end_ensemble(*machines_);
    if (!control.interrupted.load()) median = record_median(runs, ensemble, control);
    // A median is compared with a median: that of a run over the job's own network, as such a run would have it.
    if (stretched_ && !ensemble.completions.empty() && !control.interrupted.load()) {
      const Ensemble own = is_told ? run_ensemble(*stretched_, members, threads, control)
                                   : run_affordable_ensemble(*stretched_, kAutoWork, threads, control);
      if (!control.interrupted.load()) recorder_->ensemble_stretched(own.completions);
      if (!error) error = own.error;
    }
  } else if (machines_ != nullptr) {
    end_ensemble(*machines_);
  }
  if (const std::exception_ptr of_jobs = record_jobs_alone(runs, median, threads, control); !error) error = of_jobs;
  // Who asks for causes wants to know also those that the reference shares with the run.
  const bool tries_all = setup_.config.simulation.what_if;
  const bool has_flow = std::ranges::find(runs, "flow", &CompletedRun::model) != runs.end();
  if ((tries_all || (setup_.config.record_causes && has_flow)) && all_ok(runs)) {
    const WhatIf what_if = run_what_if(
        setup_, tries_all ? WhatIfScope::kAll : WhatIfScope::kDisturbances,
        median.variation ? median.variant() : FlowVariant{.variation = setup_.variation.get()}, threads, control);
    recorder_->what_if(what_if.rows);
    if (!error) error = what_if.error;
  }
  if (error) std::rethrow_exception(error);
  // What runs have said stands, whoever has gone since then.
  const std::string finding = stop != nullptr ? stop->finding(members_known, members_planned) : "";
  if (!finding.empty()) {
    recorder_->warning(finding);
    control.warned(finding);
  } else if (control.interrupted.load() && all_ok(runs) && !runs.empty()) {
    std::string reason =
        fmt::format("{} before all that follows from the runs had ended: jobs' times alone, the band, what if",
                    control.stop_reason());
    if (members_known < members_planned)
      reason += fmt::format("; the reference's band is of {} of {} members", members_known, members_planned);
    recorder_->interrupted(reason);
  }
}

std::vector<PreparedRun::VirtualRun> PreparedRun::virtual_runs() const {
  std::vector<VirtualRun> runs;
  const SimulationConfig& simulation = setup_.config.simulation;
  // With `hybrid` the twin of the models has all ranks on wires, and so is no twin of the run.
  if (kind_ == RunKind::kTwin && (whole_ || !simulation.has(SimulationFidelity::kTwin)))
    runs.push_back({SimulationFidelity::kTwin, "", "capture.pcapng"});
  // Beside an emulated run, the twin's capture has a file of its own.
  const char* const capture = kind_ == RunKind::kEmulated || whole_ ? "capture-twin.pcapng" : "capture.pcapng";
  for (const SimulationFidelity model : simulation.fidelity)
    runs.push_back({.model = model,
                    .name = to_string(model),
                    .capture = capture,
                    .whole = whole_ && model == SimulationFidelity::kTwin});
  if (!stretched_) return runs;
  if (simulation.has(SimulationFidelity::kFlow))
    runs.push_back({SimulationFidelity::kFlow, "flow, stretched", "", true});
  if (kind_ == RunKind::kTwin || simulation.has(SimulationFidelity::kTwin))
    runs.push_back({SimulationFidelity::kTwin, "twin, stretched", "capture-stretched.pcapng", true});
  return runs;
}

RunStart PreparedRun::start_of(const VirtualRun& run) const {
  return {.fidelity = run.model == SimulationFidelity::kTwin ? Fidelity::kTwin : Fidelity::kReference,
          .clock = "virtual",
          .ranks = static_cast<uint32_t>(setup_.workload.ranks.size()),
          .seed = setup_.config.seed,
          .model = run.name};
}

CompletedRun PreparedRun::run_twin(const VirtualRun& run, RunRecorder::Run& record, const RunControl& control) const {
  VirtualClock clock;
  const Setup& setup = setup_of(run);
  const std::unique_ptr<Testbed> testbed = make_memory_testbed(setup);
  testbed->capture_to(folder() / run.capture);
  const std::unique_ptr<Impairments> impairments = make_impairments(setup);
  std::vector<RateSeries> rates = rate_series(setup.config, 1);
  RoceOptions options = roce_options(setup);
  if (!rates.empty()) options.rates = &rates.front();
  const std::unique_ptr<Transport> transport =
      with_interconnect(setup, make_roce_transport(options, *testbed, impairments.get()));
  RunResult result = execute_captured(setup,
                                      {.fidelity = Fidelity::kTwin,
                                       .clock_name = "virtual",
                                       .clock = clock,
                                       .transport = *transport,
                                       .testbed = testbed.get(),
                                       .impairments = impairments.get(),
                                       .model = run.name,
                                       .rates = rates},
                                      run.capture, record, control);
  return {Fidelity::kTwin, run.name, std::move(result)};
}

CompletedRun PreparedRun::run_model(const VirtualRun& run, RunRecorder::Run record, const RunControl& control) const {
  switch (run.model) {
    case SimulationFidelity::kFlow:
      return {Fidelity::kReference, run.name, execute_flow(setup_of(run), run.name, record, control)};
    case SimulationFidelity::kAlphaBeta:
      return {Fidelity::kReference, run.name,
              execute_timed(setup_, alpha_beta_times(setup_, reference_network(setup_)), run.name, record, control)};
    case SimulationFidelity::kRecorded:
      return {Fidelity::kReference, run.name,
              execute_timed(setup_, recorded_times(setup_.workload), run.name, record, control)};
    case SimulationFidelity::kAstra:
      return {Fidelity::kReference, run.name, execute_astra(setup_, record, control)};
    case SimulationFidelity::kTwin:
      return run_twin(run, record, control);
  }
  fail_run("unknown model");
}

}  // namespace rankwire
