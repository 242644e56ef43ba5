#include "emulator/assembly/unrecorded_run.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "emulator/symmetry/folded_run.h"

namespace rankwire {
namespace {

class Unrecorded final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }
};

UnrecordedResult ended_result(std::vector<Duration> per_rank, std::vector<JobSpan> jobs) {
  UnrecordedResult ended{.completion = {}, .per_rank = std::move(per_rank), .jobs = std::move(jobs)};
  for (const Duration time : ended.per_rank) ended.completion = std::max(ended.completion, time);
  return ended;
}

/// Nothing where the classes cannot stand for all.
std::optional<UnrecordedResult> run_folded(const UnrecordedRun& run, const EngineOptions& engine,
                                           const RunOptions& options, const RunControl& control) {
  FoldedRun folded(*run.folded, engine);
  const auto watched =
      control.watched({run.label, run.folded_operations, [&] { return folded.engine().nodes_completed(); }});
  if (!folded.run(options, control.interrupted)) return std::nullopt;
  return ended_result(folded.rank_times(), folded.result().jobs);
}

}  // namespace

std::optional<UnrecordedResult> run_unrecorded(const Setup& setup, const UnrecordedRun& run, Network with,
                                               const RunControl& control) {
  EngineOptions options = engine_options(setup.config);
  options.variation = run.variation;
  options.only = run.only;
  options.times = run.times;
  if (run.folded != nullptr) {
    if (auto result = run_folded(run, options, run_options(setup.config), control)) return result;
  }
  const Plan nothing;
  const Plan& plan = run.times != nullptr ? nothing : setup.plan;
  Unrecorded nobody;
  Engine engine(setup.workload, plan, options, run.sink != nullptr ? *run.sink : nobody);
  NetworkModel network(std::move(with));
  network.connect(network.prepare(plan.transport));
  WorkerBackground background(setup, nullptr);
  const bool is_quiet = run.only || run.without_background;
  Crew crew({{.engine = &engine, .transport = &network, .background = is_quiet ? nullptr : background.of_worker(0)}});
  VirtualClock clock;
  const auto watched = control.watched({run.label, run.operations, [&] { return engine.nodes_completed(); }});
  const RunResult result = crew.run([&](ConnectionId connection) { return network.describe(connection); }, clock,
                                    run_options(setup.config), control.interrupted);
  if (result.verdict != Verdict::kOk) return std::nullopt;
  return ended_result(engine.rank_times(), engine.job_spans());
}

}  // namespace rankwire
