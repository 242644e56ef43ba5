// What the record of a prepared run has of its set-up before any run begins: nodes, requests and jobs.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/assembly/run.h"
#include "emulator/assembly/setup.h"
#include "emulator/record/recorder.h"
#include "emulator/workload/node_stream.h"

namespace rankwire {

/// Some at a time, since there may be more of them than memory.
void PreparedRun::record_nodes() {
  constexpr size_t kAtOnce = 16384;
  const Workload& workload = setup_.workload;
  std::vector<NodeInfo> rows;
  for_each_node(workload, [&](RankId rank, uint32_t place, const Node& node) {
    rows.push_back(node_info(workload, rank, place, node));
    if (rows.size() < kAtOnce) return;
    recorder_->nodes(rows);
    rows.clear();
  });
  recorder_->nodes(rows);
}

void PreparedRun::record_requests() {
  const Workload& workload = setup_.workload;
  std::vector<RequestMarkInfo> rows;
  for (const RequestMark& mark : workload.marks) {
    rows.push_back({.rank = mark.rank,
                    .node = mark.place,
                    .request = mark.request,
                    .arrives = mark.arrives,
                    .job = workload.ranks[mark.rank.value].job,
                    .input_tokens = mark.input_tokens > 0 ? std::optional(mark.input_tokens) : std::nullopt,
                    .held_batches = mark.held_batches});
  }
  if (!rows.empty()) recorder_->request_marks(rows);
  if (const auto& slo = setup_.config.slo) recorder_->objectives({slo->ttft, slo->tpot, slo->latency});
}

void PreparedRun::record_jobs() {
  std::vector<JobInfo> rows;
  for (uint32_t j = 0; j < setup_.workload.jobs.size(); ++j) {
    const Job& job = setup_.workload.jobs[j];
    rows.push_back({.job = JobId(j),
                    .name = job.name,
                    .first_rank = job.first_rank,
                    .ranks = job.ranks,
                    .iterations = job.iterations,
                    .after = job.after,
                    .start = job.start,
                    .color = setup_.config.jobs[j].color});
  }
  recorder_->jobs(rows);
}

}  // namespace rankwire
