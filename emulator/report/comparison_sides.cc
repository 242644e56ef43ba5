#include "emulator/report/comparison_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "emulator/record/plausibility.h"
#include "emulator/report/format.h"
#include "emulator/report/jobs.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/repetitions.h"
#include "emulator/report/settings.h"

namespace rankwire {
namespace {

const RecordedRun* compared_run(const RunReader& record) {
  return record.emulated() != nullptr ? record.emulated() : record.reference();
}

/// Whether every execution of the workload is in the record.
bool is_whole(const RunReader& record) {
  return std::ranges::any_of(record.runs(), [](const RecordedRun& run) {
    return run.ended && run.end.verdict == "ok" && run.loss.operations == 0;
  });
}

/// What is done of one pattern of operations, whatever the times.
struct Work {
  uint64_t executions = 0;
  Bytes smallest, largest;

  bool operator==(const Work&) const = default;
};
/// By job, kind, group and name, numbers in names aside.
using Workload = std::map<std::tuple<std::string, std::string, std::string, std::string>, Work>;

Workload workload_of(const RunReader& record) {
  OperationStatistics statistics(1);
  record.for_each_operation([&](const OperationRow& row) { statistics.add(row); });
  const JobNames jobs(record);
  Workload workload;
  for (const OperationGroup* group : statistics.groups(statistics.group_count())) {
    workload[{jobs.name(group->job), group->kind, group->group, group->name}] = {group->count, group->smallest,
                                                                                 group->largest};
  }
  return workload;
}

std::string describe(const Workload::value_type& entry) {
  const auto& [job, kind, group, name] = entry.first;
  return fmt::format("{} ({}{}{}{})", name, kind, group.empty() ? "" : " ", group, job.empty() ? "" : " of job " + job);
}

std::string sizes_of(const Work& work) {
  if (work.smallest == work.largest) return readable(work.largest);
  return fmt::format("{} to {}", readable(work.smallest), readable(work.largest));
}

std::optional<std::string> difference_of(const Workload& base, const Workload& other) {
  for (const auto& entry : base) {
    const auto same = other.find(entry.first);
    if (same == other.end()) return fmt::format("{} is in the first alone", describe(entry));
    const Work &mine = entry.second, &its = same->second;
    if (mine.executions != its.executions)
      return fmt::format("{} is executed {} and {} times", describe(entry), mine.executions, its.executions);
    if (mine != its) return fmt::format("{} moves {} and {}", describe(entry), sizes_of(mine), sizes_of(its));
  }
  for (const auto& entry : other)
    if (!base.contains(entry.first)) return fmt::format("{} is in the second alone", describe(entry));
  return std::nullopt;
}

}  // namespace

RunRecords read_records(const std::vector<std::filesystem::path>& folders) {
  RunRecords records;
  for (const std::filesystem::path& folder : folders) {
    const RunReader& record = records.emplace_back(folder);
    require_plausible(record.folder());
  }
  return records;
}

std::vector<Duration> completion_times(const RunRecords& records) {
  std::vector<Duration> times;
  for (const RunReader& record : records) {
    const std::vector<Duration> repeated = repetition_times(record);
    times.insert(times.end(), repeated.begin(), repeated.end());
    if (!record.repetitions().empty()) continue;
    const RecordedRun* const run = compared_run(record);
    if (run != nullptr && run->ended && run->end.verdict == "ok") times.push_back(run->end.completion);
  }
  return times;
}

const RunReader& median_record(const RunRecords& records) {
  std::vector<std::pair<Duration, size_t>> ended;
  for (size_t i = 0; i < records.size(); ++i) {
    const RecordedRun* const run = compared_run(records[i]);
    if (run != nullptr && run->ended && run->end.verdict == "ok") ended.emplace_back(run->end.completion, i);
  }
  if (ended.empty()) return records.front();
  std::ranges::sort(ended);
  return records[ended[(ended.size() - 1) / 2].second];
}

std::vector<std::string> mixed_settings(const RunRecords& records) {
  std::set<std::string> keys;
  for (const RunReader& record : records)
    for (const DifferentSetting& setting : different_settings(records.front(), record))
      if (setting.key != "name" && setting.key != "seed") keys.insert(setting.key);
  return {keys.begin(), keys.end()};
}

std::optional<std::string> workload_difference(const RunReader& base, const RunReader& other) {
  const RecordedRun *const mine = compared_run(base), *const its = compared_run(other);
  if (mine == nullptr || its == nullptr) return std::nullopt;
  if (mine->start.ranks != its->start.ranks) return fmt::format("{} and {} ranks", mine->start.ranks, its->start.ranks);
  if (!is_whole(base) || !is_whole(other)) return std::nullopt;
  const Workload first = workload_of(base), second = workload_of(other);
  if (first.empty() || second.empty()) return std::nullopt;  // its operations were not to be recorded
  return difference_of(first, second);
}

}  // namespace rankwire
