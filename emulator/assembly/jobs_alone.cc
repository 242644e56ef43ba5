#include "emulator/assembly/jobs_alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/on_threads.h"
#include "emulator/assembly/alpha_beta.h"
#include "emulator/assembly/flow_run.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"

namespace rankwire {
namespace {

/// What the runs of all jobs share, which is constant: they may go on at the same time.
class AloneRuns {
 public:
  /// The variant's variation outlives it.
  AloneRuns(const Setup& setup, SimulationFidelity model, const FlowVariant& variant, const RunControl& control)
      : setup_(setup), variant_(variant), control_(control) {
    switch (model) {
      case SimulationFidelity::kAlphaBeta:
        times_ = alpha_beta_times(setup, reference_network(setup));
        break;
      case SimulationFidelity::kRecorded:
        times_ = recorded_times(setup.workload);
        break;
      case SimulationFidelity::kFlow:
      case SimulationFidelity::kTwin:
      case SimulationFidelity::kAstra:
        network_ = variant.network_of(setup, reference_network(setup));
        if (variant.variation == nullptr && variant.nics == Nics::kIdeal && may_fold(setup, network_))
          folded_ = quotient(setup.workload, setup.plan, network_);
        break;
    }
  }

  /// Nothing where the job does not end well.
  std::optional<Duration> completion(JobId job, Time begin) const {
    const auto result = run({.label = fmt::format("{} alone", setup_.workload.jobs[job.value].name),
                             .operations = operations(setup_.workload, job),
                             .only = OnlyJob{.job = job, .begin = begin},
                             .folded = folded_ ? &*folded_ : nullptr,
                             .folded_operations = folded_ ? operations(folded_->workload, job) : 0},
                            network_);
    return result ? result->jobs[job.value].completion() : std::nullopt;
  }

  /// Whether cables fail, and the model knows of cables.
  bool tells_unharmed() const { return !times_ && has_failures(setup_.config); }
  /// Of all jobs together, by JobId, while no cable fails. Empty where they do not end well.
  std::vector<JobSpan> unharmed() const {
    uint64_t all = 0;
    for (uint32_t j = 0; j < setup_.workload.jobs.size(); ++j) all += operations(setup_.workload, JobId(j));
    auto result =
        run({.label = "without failures", .operations = all}, variant_.network_of(setup_, unharmed_network(setup_)));
    return result ? std::move(result->jobs) : std::vector<JobSpan>();
  }

 private:
  std::optional<UnrecordedResult> run(UnrecordedRun what, const Network& network) const {
    what.variation = variant_.variation;
    if (times_) what.times = &*times_;
    try {
      return run_unrecorded(setup_, what, network, control_);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", what.label, error.what()));
    }
  }

  static uint64_t operations(const Workload& workload, JobId id) {
    const Job& job = workload.jobs[id.value];
    uint64_t count = 0;
    for (uint32_t rank = job.first_rank; rank < job.first_rank + job.ranks; ++rank) {
      const RankTrace& trace = workload.ranks[rank];
      if (trace.streamed) count += trace.streamed->operations;
      count += static_cast<uint64_t>(
          std::ranges::count_if(trace.nodes, [](const Node& node) { return node.kind != NodeKind::kNone; }));
    }
    return count * job.iterations;
  }

  const Setup& setup_;
  const FlowVariant variant_;
  const RunControl& control_;
  std::optional<CommunicationTimes> times_;  // instead of a network
  Network network_;
  std::optional<Quotient> folded_;  // of the network
};

}  // namespace

bool has_failures(const RunConfig& config) {
  return config.fabric && !config.fabric->failures.empty();
}

SimulationFidelity alone_model(const RunConfig& config) {
  const auto needs_no_packets = [](SimulationFidelity model) {
    return model == SimulationFidelity::kFlow || model == SimulationFidelity::kAlphaBeta ||
           model == SimulationFidelity::kRecorded;
  };
  const std::vector<SimulationFidelity>& models = config.simulation.fidelity;
  const auto first = std::ranges::find_if(models, needs_no_packets);
  return first == models.end() ? SimulationFidelity::kFlow : *first;
}

JobsAlone run_jobs_alone(const Setup& setup, SimulationFidelity model, std::span<const JobSpan> together,
                         const FlowVariant& variant, uint32_t threads, const RunControl& control) {
  const AloneRuns alone(setup, model, variant, control);
  std::vector<JobSpan> unharmed;
  std::vector<std::optional<Duration>> completions(together.size());
  std::vector<std::function<void()>> runs;
  if (alone.tells_unharmed()) runs.push_back([&] { unharmed = alone.unharmed(); });
  for (uint32_t j = 0; j < together.size(); ++j) {
    if (!together[j].begin) continue;
    runs.push_back([&, j] { completions[j] = alone.completion(JobId(j), *together[j].begin); });
  }
  JobsAlone result;
  result.error = on_threads(threads, runs.size(), [&](size_t part) {
    if (!control.interrupted.load()) runs[part]();
  });
  for (uint32_t j = 0; j < together.size(); ++j) {
    if (!completions[j]) continue;
    JobAlone& job = result.jobs.emplace_back(
        JobAlone{.job = JobId(j), .model = to_string(model), .completion = *completions[j], .unharmed = {}});
    if (!unharmed.empty()) job.unharmed = unharmed[j].completion();
  }
  return result;
}

}  // namespace rankwire
