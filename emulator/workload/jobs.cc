#include "emulator/workload/jobs.h"

#include <fmt/format.h>

#include <utility>

namespace rankwire {
namespace {

/// Ids of one part within all.
struct JobShift {
  uint32_t ranks = 0, groups = 0, streaming = 0;

  RankId rank(RankId id) const { return id.valid() ? RankId(id.value + ranks) : id; }
  GroupId group(GroupId id) const { return id.valid() ? GroupId(id.value + groups) : id; }
};

void append_rank(Workload& all, RankTrace trace, const JobShift& shift, JobId job) {
  trace.job = job;
  if (trace.streamed) trace.streamed->part += shift.streaming;
  for (Node& node : trace.nodes) {
    node.group = shift.group(node.group);
    node.peer = shift.rank(node.peer);
  }
  all.ranks.push_back(std::move(trace));
}

void append_group(Workload& all, Group group, const JobShift& shift, JobId job) {
  group.job = job;
  for (std::vector<RankId>* ranks : {&group.members, &group.participants})
    for (RankId& rank : *ranks) rank = shift.rank(rank);
  all.groups.push_back(std::move(group));
}

void append_job(Workload& all, JobPart part) {
  const JobShift shift{.ranks = static_cast<uint32_t>(all.ranks.size()),
                       .groups = static_cast<uint32_t>(all.groups.size()),
                       .streaming = static_cast<uint32_t>(all.streaming.size())};
  const JobId id(static_cast<uint32_t>(all.jobs.size()));
  Workload& own = part.workload;
  part.job.first_rank = shift.ranks;
  part.job.ranks = static_cast<uint32_t>(own.ranks.size());
  part.job.element = own.element;
  for (RankTrace& trace : own.ranks) append_rank(all, std::move(trace), shift, id);
  for (Group& group : own.groups) append_group(all, std::move(group), shift, id);
  for (Streaming& streaming : own.streaming) {
    streaming.first_rank += shift.ranks;
    all.streaming.push_back(std::move(streaming));
  }
  for (RequestMark mark : own.marks) {
    mark.rank = shift.rank(mark.rank);
    all.marks.push_back(mark);
  }
  all.names.adopt(std::move(own.names));
  all.blocks.append(own.blocks, shift.groups);
  all.jobs.push_back(std::move(part.job));
}

}  // namespace

Workload join_jobs(std::vector<JobPart> parts) {
  uint64_t ranks = 0, groups = 0;
  for (const JobPart& part : parts) ranks += part.workload.ranks.size(), groups += part.workload.groups.size();
  if (ranks > MessageId::kMaxRanks)
    fail_input("jobs: {} ranks of all jobs, the most is {}", ranks, MessageId::kMaxRanks);
  if (groups > MessageId::kMaxGroups)
    fail_input("jobs: {} process groups of all jobs, the most is {}", groups, MessageId::kMaxGroups);
  Workload all;
  all.element = parts.front().workload.element;
  for (JobPart& part : parts) append_job(all, std::move(part));
  return all;
}

JobId job_of(const Workload& workload, RankId rank) {
  return workload.ranks[rank.value].job;
}

std::string rank_text(const Workload& workload, RankId rank) {
  if (workload.jobs.size() < 2) return fmt::format("rank {}", rank.value);
  const Job& job = workload.jobs[job_of(workload, rank).value];
  return fmt::format("rank {} of job {}", rank.value - job.first_rank, job.name);
}

std::string message_text(const Workload& workload, const MessageId& id) {
  if (workload.jobs.size() < 2) return to_string(id);
  const Job& job = workload.jobs[id.job];
  MessageId within = id;
  within.source = id.source - job.first_rank;
  within.destination = id.destination - job.first_rank;
  const std::string text = to_string(within);
  const std::string number = fmt::format("job {} ", uint64_t{id.job});
  return fmt::format("job {} {}", job.name, text.substr(number.size()));
}

}  // namespace rankwire
