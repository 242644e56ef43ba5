#include "emulator/assembly/unrecorded_run.h"

#include <algorithm>
#include <atomic>
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

/// Tells `sink`, and sets `stop` when it has been told of an operation after whoever controls the run, or its work, has
/// ended it.
class Bounded final : public RecordSink {
 public:
  Bounded(RecordSink& sink, const NetworkModel& network, uint64_t most_work, const std::atomic<bool>& interrupted)
      : sink_(sink), network_(network), most_work_(most_work), interrupted_(interrupted) {}

  void operations(std::span<const OperationRecord> rows) noexcept override {
    sink_.operations(rows);
    if (network_.work() > most_work_ || interrupted_.load()) stop_.store(true);
  }
  void messages(std::span<const MessageRecord> rows) noexcept override { sink_.messages(rows); }
  bool wants_messages() const noexcept override { return sink_.wants_messages(); }

  const std::atomic<bool>& stop() const { return stop_; }

 private:
  RecordSink& sink_;
  const NetworkModel& network_;
  const uint64_t most_work_;
  const std::atomic<bool>& interrupted_;
  std::atomic<bool> stop_{false};
};

UnrecordedResult ended_result(std::vector<Duration> per_rank, std::vector<JobSpan> jobs, uint64_t work = 0) {
  UnrecordedResult ended{.completion = {}, .per_rank = std::move(per_rank), .jobs = std::move(jobs), .work = work};
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
  NetworkModel network(std::move(with));
  Bounded sink(run.sink != nullptr ? *run.sink : nobody, network, run.most_work, control.interrupted);
  Engine engine(setup.workload, plan, options, sink);
  network.connect(network.prepare(plan.transport));
  WorkerBackground background(setup, nullptr);
  const bool is_quiet = run.only || run.without_background;
  Crew crew({{.engine = &engine, .transport = &network, .background = is_quiet ? nullptr : background.of_worker(0)}});
  VirtualClock clock;
  const auto watched = control.watched({run.label, run.operations, [&] { return engine.nodes_completed(); }});
  // Without a bound the flag itself, which is then heeded in each turn: between two operations seconds may pass.
  const RunResult result =
      crew.run([&](ConnectionId connection) { return network.describe(connection); }, clock, run_options(setup.config),
               run.most_work == UINT64_MAX ? control.interrupted : sink.stop());
  if (result.verdict != Verdict::kOk) return std::nullopt;
  return ended_result(engine.rank_times(), engine.job_spans(), network.work());
}

}  // namespace rankwire
