#include "emulator/engine/job_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

constexpr Time kLatestBegin(Time::never().ps - 1);

std::vector<std::vector<RankId>> ranks_by_job(const Workload& workload, const Shard& shard) {
  std::vector<std::vector<RankId>> ranks(std::max<size_t>(workload.jobs.size(), 1));
  for (uint32_t r = 0; r < workload.ranks.size(); ++r)
    if (shard.has(RankId(r))) ranks[workload.ranks[r].job.value].push_back(RankId(r));
  return ranks;
}

}  // namespace

JobGates::JobGates(const Workload& workload, uint32_t iterations, std::optional<OnlyJob> only, const Shard& shard,
                   TimerQueue& timers)
    : workload_(workload), shard_(shard), timers_(timers) {
  const std::vector<std::vector<RankId>> ranks = ranks_by_job(workload, shard);
  jobs_.reserve(ranks.size());
  for (uint32_t j = 0; j < ranks.size(); ++j) {
    const uint32_t own = workload.iterations_of(JobId(j), iterations);
    jobs_.push_back(
        {.ranks = ranks[j],
         .iterations = own,
         .gate = IterationGate(static_cast<uint32_t>(ranks[j].size()), own, shard.iterations(JobId(j)), shard.number()),
         .after = {},
         .start = {},
         .shared = shard.iterations(JobId(j)),
         .begin = {},
         .last_end = {}});
    Gated& job = jobs_.back();
    if (workload.is_idle(JobId(j)) || (only && only->job != JobId(j))) continue;
    if (only) {
      job.start = only->begin - Time();
    } else if (!workload.jobs.empty()) {
      job.after = workload.jobs[j].after, job.start = workload.jobs[j].start;
    }
    unfinished_ += !job.gate.finished();
    if (job.after.valid()) continue;
    if (job.start > Duration(0)) {
      schedule(j, Time() + job.start);
      continue;
    }
    job.begun = true;
    first_ranks_.insert(first_ranks_.end(), job.ranks.begin(), job.ranks.end());
  }
}

std::span<const RankId> JobGates::begin(uint32_t job, Time at) noexcept {
  Gated& gated = jobs_[job];
  gated.begun = true;
  gated.begin = gated.last_end = at;
  return gated.ranks;
}

std::span<const RankId> JobGates::end(RankId rank, uint32_t iteration, Time at) noexcept {
  const uint32_t job = workload_.ranks[rank.value].job.value;
  Gated& gated = jobs_[job];
  gated.last_end = std::max(gated.last_end, at);
  if (gated.shared != nullptr) gated.shared->note_end(shard_.number(), gated.last_end);
  const bool may_go_on = gated.gate.end(iteration);
  if (gated.gate.finished() && !std::exchange(gated.done, true)) --unfinished_;
  if (!may_go_on) return {};
  note_end(job);
  return gated.ranks;
}

/// Jobs that follow this one begin, once all its ranks have ended it.
void JobGates::note_end(uint32_t job) noexcept {
  Gated& ended = jobs_[job];
  if (ended.ended || ended.gate.ended_by_all() < ended.iterations) return;
  ended.ended = true;
  if (ended.shared != nullptr) ended.last_end = ended.shared->last_end();
  const Time end = ended.last_end;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j].after != JobId(job)) continue;
    schedule(j, jobs_[j].start < kLatestBegin - end ? end + jobs_[j].start : kLatestBegin);
  }
}

void JobGates::schedule(uint32_t job, Time at) noexcept {
  timers_.push({.at = at, .kind = TimerQueue::Kind::kJob, .owner = job, .item = 0});
}

std::vector<JobSpan> JobGates::spans() const {
  std::vector<JobSpan> spans;
  for (const Gated& job : jobs_) {
    JobSpan& own = spans.emplace_back();
    if (job.begun) own.begin = job.begin;
    const bool ended = job.shared != nullptr ? job.shared->ended_by_all() >= job.iterations : job.ended;
    if (ended) own.end = job.shared != nullptr ? job.shared->last_end() : job.last_end;
  }
  return spans;
}

std::vector<std::string> JobGates::idle_reasons() const {
  std::vector<std::string> lines;
  for (size_t j = 0; j < jobs_.size() && !workload_.jobs.empty(); ++j) {
    if (jobs_[j].begun || !jobs_[j].after.valid()) continue;
    lines.push_back(fmt::format("job {} has not begun: it follows job {}, which has not ended", workload_.jobs[j].name,
                                workload_.jobs[jobs_[j].after.value].name));
  }
  return lines;
}

}  // namespace rankwire
