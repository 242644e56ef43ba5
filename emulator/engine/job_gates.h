// When jobs begin, which iterations their ranks may begin, and when jobs have ended.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/record.h"
#include "base/units.h"
#include "emulator/engine/iteration_gate.h"
#include "emulator/engine/queues.h"
#include "emulator/engine/shard.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// A job that is run without the others, and when it begins.
struct OnlyJob {
  JobId job;
  Time begin;
};

/// An IterationGate for each job. A job begins at its time, or that time after the end of the job that it follows: at
/// the end of that job's last node, whenever that was noticed. Of a job that several shards have ranks of each shard
/// has its own, and learns from SharedIterations what the others' have ended. Used by the engine shard's thread alone.
/// After construction nothing allocates and nothing throws.
class JobGates {
 public:
  /// The workload, `shard` and `timers` outlive it. Beginnings are entered into `timers`, as TimerQueue::Kind::kJob;
  /// whoever takes them out calls `begin`. `iterations` are those of a workload without `jobs`. With `only` the others
  /// never begin, nor do idle ones, and nobody waits for them.
  JobGates(const Workload& workload, uint32_t iterations, std::optional<OnlyJob> only, const Shard& shard,
           TimerQueue& timers);

  // Ranks are always those of the shard.

  /// The ranks of jobs that begin with the run, which have begun with construction.
  std::span<const RankId> first_ranks() const noexcept { return first_ranks_; }
  /// The time of its timer has come. Returns its ranks, which may start.
  std::span<const RankId> begin(uint32_t job, Time at) noexcept;

  /// A rank has ended this iteration, of which each tells once; `at`: the end of its last node. Returns the ranks of
  /// its job where all of them have ended it, so that those that wait may go on.
  std::span<const RankId> end(RankId rank, uint32_t iteration, Time at) noexcept;
  /// Whether a rank that has ended all iterations before this one may begin it.
  bool open(RankId rank, uint32_t iteration) const noexcept { return job_of(rank).gate.open(iteration); }
  /// Whether there is no such iteration: the rank that has ended all those before has finished.
  bool past_last(RankId rank, uint32_t iteration) const noexcept { return iteration == job_of(rank).iterations; }
  /// Iterations that all ranks of the job have ended, when last looked.
  uint32_t ended_by_all(JobId job) const noexcept { return jobs_[job.value].gate.ended_by_all(); }
  uint32_t ended_by_all(RankId rank) const noexcept { return job_of(rank).gate.ended_by_all(); }
  /// Whether `look` may find something.
  bool has_others() const noexcept { return shard_.has_others(); }
  /// Calls `may_go_on(ranks)` for each job of which all ranks have ended more iterations than when last looked.
  template <class MayGoOn>
  void look(MayGoOn may_go_on) noexcept {
    for (uint32_t job = 0; job < jobs_.size(); ++job) {
      if (jobs_[job].ended || !jobs_[job].gate.look()) continue;
      note_end(job);
      may_go_on(std::span<const RankId>(jobs_[job].ranks));
    }
  }
  /// All jobs have ended, as far as their ranks are here.
  bool finished() const noexcept { return unfinished_ == 0; }

  /// By JobId. With several shards, when none runs any more.
  std::vector<JobSpan> spans() const;
  /// Why jobs have not begun, a line each; only jobs of a workload that names them.
  std::vector<std::string> idle_reasons() const;

 private:
  struct Gated {
    std::vector<RankId> ranks;
    uint32_t iterations;
    IterationGate gate;
    JobId after;
    Duration start;
    SharedIterations* shared;          ///< null: there are no other shards
    bool begun = false, done = false;  ///< done: by its ranks here
    bool ended = false;                ///< by all
    Time begin, last_end;
  };

  const Gated& job_of(RankId rank) const noexcept { return jobs_[workload_.ranks[rank.value].job.value]; }
  void note_end(uint32_t job) noexcept;
  void schedule(uint32_t job, Time at) noexcept;

  const Workload& workload_;
  const Shard& shard_;
  TimerQueue& timers_;
  std::vector<Gated> jobs_;
  std::vector<RankId> first_ranks_;
  uint32_t unfinished_ = 0;
};

}  // namespace rankwire
