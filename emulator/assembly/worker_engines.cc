#include "emulator/assembly/worker_engines.h"

#include <algorithm>

namespace rankwire {

WorkerEngines::WorkerEngines(const Setup& setup, const EngineOptions& options, const WorkerShares* shares,
                             const RunRecorder::Run& record)
    : shares_(shares) {
  for (size_t job = 0; shares != nullptr && job < std::max<size_t>(setup.workload.jobs.size(), 1); ++job)
    iterations_.emplace_back(shares->parts());
  for (uint32_t worker = 0; worker < (shares != nullptr ? shares->workers() : 1); ++worker) {
    EngineOptions of_worker = options;
    if (shares != nullptr) of_worker.shard = Shard(shares->ranks(worker), worker, iterations_);
    engines_.push_back(std::make_unique<Engine>(setup.workload, setup.plan, of_worker, record.sink(worker)));
  }
}

uint64_t WorkerEngines::nodes_completed() const noexcept {
  uint64_t completed = 0;
  for (const auto& engine : engines_) completed += engine->nodes_completed();
  return completed;
}

WorkDone WorkerEngines::work_done() const noexcept {
  WorkDone done;
  for (const auto& engine : engines_) done += engine->work_done();
  return done;
}

std::vector<Duration> WorkerEngines::rank_times() const {
  std::vector<Duration> times = engines_.front()->rank_times();
  for (const auto& engine : engines_) {
    const std::vector<Duration> of_shard = engine->rank_times();
    for (size_t rank = 0; rank < times.size(); ++rank) times[rank] = std::max(times[rank], of_shard[rank]);
  }
  return times;
}

const ComputeTimes& WorkerEngines::compute_times(RankId rank) const {
  const uint32_t worker = shares_ != nullptr ? shares_->of_rank(rank) : 0;
  return worker < count() ? engines_[worker]->compute_times(rank) : nothing_;
}

CommunicationCounters WorkerEngines::messages() const {
  CommunicationCounters sum;
  for (const auto& engine : engines_) sum += engine->communication().counters();
  return sum;
}

// A worker without ranks of a job may not have come to its beginning.
std::vector<JobSpan> WorkerEngines::job_spans() const {
  std::vector<JobSpan> spans = engines_.front()->job_spans();
  for (const auto& engine : engines_) {
    const std::vector<JobSpan> of_shard = engine->job_spans();
    for (size_t job = 0; job < spans.size(); ++job) {
      if (!spans[job].begin) spans[job].begin = of_shard[job].begin;
    }
  }
  return spans;
}

std::vector<const Communication*> WorkerEngines::communications() const {
  std::vector<const Communication*> communications;
  for (const auto& engine : engines_) communications.push_back(&engine->communication());
  return communications;
}

WorkerBackground::WorkerBackground(const Setup& setup, const WorkerShares* shares) {
  if (setup.background.empty()) return;
  const BackgroundKeys keys = setup.config.transport.checking ? BackgroundKeys::kCompared : BackgroundKeys::kIgnored;
  if (shares != nullptr) iterations_.emplace_back(shares->parts());
  for (uint32_t worker = 0; worker < (shares != nullptr ? shares->workers() : 1); ++worker) {
    const Shard shard = shares != nullptr ? Shard(shares->ranks(worker), worker, iterations_) : Shard();
    parts_.push_back(std::make_unique<BackgroundTraffic>(setup.background, setup.plan, shard, keys));
  }
}

std::vector<BackgroundCounters> WorkerBackground::counters() const {
  std::vector<BackgroundCounters> sum;
  for (const auto& part : parts_) {
    sum.resize(part->counters().size());
    for (size_t entry = 0; entry < sum.size(); ++entry) sum[entry] += part->counters()[entry];
  }
  return sum;
}

}  // namespace rankwire
