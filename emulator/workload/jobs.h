// Several workloads that share a run, as one.
#pragma once

#include <string>
#include <vector>

#include "base/message.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// A workload by itself, whose ranks count from 0.
struct JobPart {
  Job job;  ///< `first_rank`, `ranks` and `element` are left to `join_jobs`
  Workload workload;
};

/// All parts as one workload: jobs have the numbers of their places, the ranks of the first come first. Names of groups
/// may repeat from job to job. Throws Error(kInput) when ranks or groups are more than a MessageId can name.
Workload join_jobs(std::vector<JobPart> parts);

/// Of JobId(0), unless there are `jobs`.
JobId job_of(const Workload& workload, RankId rank);

/// What people call a rank: "rank 3", and where there are several jobs, "rank 3 of job a", counted within the job.
std::string rank_text(const Workload& workload, RankId rank);
/// As to_string(id), with the names and numbers that people know where there are several jobs.
std::string message_text(const Workload& workload, const MessageId& id);

}  // namespace rankwire
