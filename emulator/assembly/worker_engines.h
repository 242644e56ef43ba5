// The engines of a run, one a worker, seen as one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/background_traffic.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/shard.h"
#include "emulator/record/recorder.h"

namespace rankwire {

/// Each engine belongs to its worker's thread while the run goes on; what is asked of all of them is asked before or
/// after, but for `nodes_completed` and `work_done`.
class WorkerEngines {
 public:
  /// One engine for each worker of `shares`, or one for all ranks when that is null. Where there are other machines
  /// they are the last shard. Their rows go to the sinks of their numbers of `record`, which is open. All but that
  /// outlive this.
  WorkerEngines(const Setup& setup, const EngineOptions& options, const WorkerShares* shares,
                const RunRecorder::Run& record);

  uint32_t count() const { return static_cast<uint32_t>(engines_.size()); }
  Engine& of_worker(uint32_t worker) { return *engines_[worker]; }
  /// By JobId; none where there is one engine for all ranks.
  std::span<SharedIterations> iterations() { return iterations_; }
  /// Any thread may ask.
  uint64_t nodes_completed() const noexcept;
  WorkDone work_done() const noexcept;

  std::vector<Duration> rank_times() const;
  /// None of another machine's.
  const ComputeTimes& compute_times(RankId rank) const;
  CommunicationCounters messages() const;
  /// By JobId.
  std::vector<JobSpan> job_spans() const;
  /// By worker.
  std::vector<const Communication*> communications() const;

 private:
  const WorkerShares* const shares_ = nullptr;
  const ComputeTimes nothing_{};
  std::vector<SharedIterations> iterations_;  // by job
  std::vector<std::unique_ptr<Engine>> engines_;
};

/// The background of a run, a part a worker, seen as one; as WorkerEngines otherwise.
class WorkerBackground {
 public:
  WorkerBackground(const Setup& setup, const WorkerShares* shares);

  /// Null where there is none.
  BackgroundTraffic* of_worker(uint32_t worker) { return parts_.empty() ? nullptr : parts_[worker].get(); }
  /// By entry.
  std::vector<BackgroundCounters> counters() const;

 private:
  std::vector<SharedIterations> iterations_;  // of no job; a Shard of some ranks has any
  std::vector<std::unique_ptr<BackgroundTraffic>> parts_;
};

}  // namespace rankwire
