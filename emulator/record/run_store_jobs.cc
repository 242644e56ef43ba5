// What a RunStore keeps of jobs that share a run, and of the traffic beside them.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

std::optional<int64_t> picoseconds(const std::optional<Time>& time) {
  return time ? std::optional(time->ps) : std::nullopt;
}

}  // namespace

void RunStore::jobs(std::span<const JobInfo> jobs) {
  open();
  Statement insert = database_.prepare("INSERT INTO jobs VALUES(?,?,?,?,?,?,?,?)");
  for (const JobInfo& j : jobs) {
    insert
        .bind(j.job.value, j.name, j.first_rank, j.ranks, j.iterations,
              j.after.valid() ? std::optional<int64_t>(j.after.value) : std::nullopt, j.start, j.color)
        .execute();
  }
}

void RunStore::jobs_alone(std::span<const JobAlone> jobs) {
  open();
  Statement insert = database_.prepare("INSERT INTO jobs_alone VALUES(?,?,?,?)");
  for (const JobAlone& j : jobs) insert.bind(j.job.value, j.model, j.completion, j.unharmed).execute();
}

void RunStore::limits(std::span<const LimitInfo> limits) {
  open();
  Statement insert = database_.prepare("INSERT INTO limits VALUES(?,?)");
  for (const LimitInfo& limit : limits) insert.bind(limit.name, limit.value).execute();
}

void RunStore::ensemble(std::span<const Duration> completions) {
  open();
  Statement insert = database_.prepare("INSERT INTO ensemble VALUES(?,?)");
  for (size_t member = 0; member < completions.size(); ++member)
    insert.bind(uint64_t{member}, completions[member]).execute();
}

void RunStore::ensemble_stretched(std::span<const Duration> completions) {
  open();
  Statement insert = database_.prepare("INSERT INTO ensemble_stretched VALUES(?,?)");
  for (size_t member = 0; member < completions.size(); ++member)
    insert.bind(uint64_t{member}, completions[member]).execute();
}

void RunStore::ensemble_ranks(std::span<const std::vector<Duration>> members) {
  if (members.empty()) return;
  open();
  Statement insert = database_.prepare("INSERT INTO ensemble_ranks VALUES(?,?,?)");
  // In the order of the key, so that the table only grows at its end.
  for (size_t rank = 0; rank < members.front().size(); ++rank)
    for (size_t member = 0; member < members.size(); ++member)
      insert.bind(uint64_t{rank}, uint64_t{member}, members[member][rank]).execute();
}

void RunStore::ensemble_operations(std::span<const EnsembleOperation> rows) {
  open();
  Statement insert = database_.prepare("INSERT INTO ensemble_operations VALUES(?,?,?,?,?,?)");
  for (const EnsembleOperation& row : rows)
    insert.bind(row.member, row.name, row.kind, row.group, row.job.value, row.mean).execute();
}

void RunStore::what_if(std::span<const WhatIfRow> rows) {
  open();
  Statement insert = database_.prepare("INSERT INTO what_if VALUES(?,?,?)");
  for (const WhatIfRow& row : rows) insert.bind(row.kind, row.name, row.completion).execute();
}

void RunStore::background(std::span<const BackgroundInfo> entries, RankId first_end,
                          std::span<const std::string> ends) {
  open();
  Statement insert = database_.prepare("INSERT INTO background VALUES(?,?,?,?,?,?,?,?,?)");
  for (const BackgroundInfo& e : entries) {
    insert
        .bind(e.job.value, e.name, e.pattern, e.flows, e.mean.count,
              e.rate ? std::optional(e.rate->bits_per_second) : std::nullopt, e.limit, e.start.ps, picoseconds(e.stop))
        .execute();
    background_.push_back(e.job);
  }
  Statement insert_end = database_.prepare("INSERT INTO background_ends VALUES(?,?)");
  for (size_t i = 0; i < ends.size(); ++i) insert_end.bind(uint64_t{first_end.value + i}, ends[i]).execute();
}

void RunStore::background_traffic(uint32_t run, std::span<const BackgroundRow> rows) {
  Statement insert =
      database_.prepare("INSERT INTO background_traffic VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (size_t i = 0; i < std::min(rows.size(), background_.size()); ++i) {
    const BackgroundRow& r = rows[i];
    const MessageLatency& l = r.completion;
    insert
        .bind(run, background_[i].value, r.offered, r.posted, r.acknowledged, r.delivered, r.failed,
              r.bytes_offered.count, r.bytes_posted.count, r.bytes_delivered.count, r.payload_errors, r.failed_flows,
              l.count, l.p50.ps, l.p95.ps, l.p99.ps, l.p999.ps, l.max.ps, picoseconds(r.last_delivery),
              picoseconds(r.first_arrival))
        .execute();
  }
}

void RunStore::shared_links(uint32_t run, std::span<const SharedLinkRow> links) {
  Statement insert = database_.prepare("INSERT INTO shared_links VALUES(?,?,?,?,?,?,?,?)");
  for (const SharedLinkRow& l : links) {
    insert.bind(run, l.link, l.job.value, l.other.value, l.time.ps, l.shared.ps, l.bytes.count, l.shared_bytes.count)
        .execute();
  }
}

}  // namespace rankwire
