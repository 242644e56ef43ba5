#include "emulator/assembly/jobs_alone.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "emulator/assembly/alpha_beta.h"
#include "emulator/assembly/reference.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"

namespace rankwire {
namespace {

class Unrecorded final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }
};

/// What the runs of all jobs share.
class AloneRuns {
 public:
  AloneRuns(const Setup& setup, SimulationFidelity model, const RunControl& control)
      : setup_(setup), control_(control) {
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
        network_ = reference_network(setup);
        break;
    }
  }

  /// Nothing where the job does not end well.
  std::optional<Duration> completion(JobId job, Time begin) const {
    EngineOptions options = engine_options(setup_.config);
    options.variation = setup_.variation.get();
    options.only = OnlyJob{.job = job, .begin = begin};
    if (times_) options.times = &*times_;
    const Plan nothing;
    const Plan& plan = times_ ? nothing : setup_.plan;
    Unrecorded sink;
    Engine engine(setup_.workload, plan, options, sink);
    NetworkModel network(network_);
    network.connect(network.prepare(plan.transport));
    VirtualClock clock;
    const auto watched = control_.watched(fmt::format("{} alone", setup_.workload.jobs[job.value].name),
                                          operations(job), [&] { return engine.nodes_completed(); });
    const RunResult result = run(engine, network, {}, clock, run_options(setup_.config), control_.interrupted);
    if (result.verdict != Verdict::kOk) return std::nullopt;
    return engine.job_spans()[job.value].completion();
  }

 private:
  uint64_t operations(JobId id) const {
    const Job& job = setup_.workload.jobs[id.value];
    uint64_t count = 0;
    for (uint32_t rank = job.first_rank; rank < job.first_rank + job.ranks; ++rank) {
      const RankTrace& trace = setup_.workload.ranks[rank];
      if (trace.streamed) count += trace.streamed->operations;
      count += static_cast<uint64_t>(
          std::ranges::count_if(trace.nodes, [](const Node& node) { return node.kind != NodeKind::kNone; }));
    }
    return count * job.iterations;
  }

  const Setup& setup_;
  const RunControl& control_;
  std::optional<CommunicationTimes> times_;  // instead of a network
  Network network_;
};

}  // namespace

SimulationFidelity alone_model(const RunConfig& config) {
  const auto needs_no_packets = [](SimulationFidelity model) {
    return model == SimulationFidelity::kFlow || model == SimulationFidelity::kAlphaBeta ||
           model == SimulationFidelity::kRecorded;
  };
  const std::vector<SimulationFidelity>& models = config.simulation.fidelity;
  const auto first = std::ranges::find_if(models, needs_no_packets);
  return first == models.end() ? SimulationFidelity::kFlow : *first;
}

std::vector<JobAlone> run_jobs_alone(const Setup& setup, SimulationFidelity model, std::span<const JobSpan> together,
                                     const RunControl& control) {
  std::vector<JobAlone> jobs;
  const AloneRuns alone(setup, model, control);
  for (uint32_t j = 0; j < together.size() && !control.interrupted.load(); ++j) {
    if (!together[j].begin) continue;
    const std::optional<Duration> completion = alone.completion(JobId(j), *together[j].begin);
    if (completion) jobs.push_back({.job = JobId(j), .model = to_string(model), .completion = *completion});
  }
  return jobs;
}

}  // namespace rankwire
