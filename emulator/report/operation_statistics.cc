#include "emulator/report/operation_statistics.h"

#include <algorithm>
#include <tuple>

#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

// A NUL cannot be part of a name that SQLite gave back as text.
constexpr char kSeparator = '\0';

void append_job(std::string& key, JobId job) {
  key += kSeparator;
  key.append(reinterpret_cast<const char*>(&job.value), sizeof job.value);
}

double total_time(const OperationGroup& group) {
  return group.emulated.value() ? group.emulated.sum() : group.reference.sum();
}

}  // namespace

std::optional<double> OperationGroup::ratio() const {
  const auto e = emulated.duration(), r = reference.duration();
  if (!e || !r) return std::nullopt;
  return ratio_of(*e, *r);
}

OperationGroup& OperationStatistics::group_of(const NodeInfo& node) {
  key_.clear();
  append_pattern(key_, node.name);
  const size_t name_size = key_.size();
  key_ += kSeparator;
  append_pattern(key_, node.group);
  const size_t group_end = key_.size();
  key_ += kSeparator;
  key_ += node.kind;
  append_job(key_, node.job);
  if (const auto found = groups_.find(key_); found != groups_.end()) return found->second;

  OperationGroup group{.name = key_.substr(0, name_size),
                       .kind = node.kind,
                       .group = key_.substr(name_size + 1, group_end - name_size - 1),
                       .job = node.job,
                       .smallest = node.bytes,
                       .largest = node.bytes};
  if (groups_.size() >= kMaxGroups) {
    key_ = kSeparator + node.kind;
    append_job(key_, node.job);
    group.name = "(other)";
    group.group.clear();
  }
  return groups_.try_emplace(key_, std::move(group)).first->second;
}

void OperationStatistics::add(const OperationRow& row) {
  const Duration time = row.emulated ? row.emulated->duration() : row.reference->duration();
  const auto extra = extra_time(row);
  ++count_;
  if (extra) ++compared_;

  OperationGroup& group = group_of(row.node);
  ++group.count;
  group.smallest = std::min(group.smallest, row.node.bytes);
  group.largest = std::max(group.largest, row.node.bytes);
  if (row.emulated) group.emulated.add(static_cast<double>(row.emulated->duration().ps));
  if (row.reference) group.reference.add(static_cast<double>(row.reference->duration().ps));
  if (row.node.recorded) group.recorded.add(static_cast<double>(row.node.recorded->ps));
  if (const auto bandwidth = operation_bandwidth(row.node, time)) group.bus.add(bandwidth->bus, time);
  group.worst = std::max(group.worst, time);

  if (!shows_the_network(row.node.kind)) return;
  longest_.add(row, time);
  if (extra && is_noteworthy(*extra, row.reference->duration())) deviations_.add(row, *extra);
}

std::vector<const OperationGroup*> OperationStatistics::groups(size_t limit) const {
  std::vector<const OperationGroup*> groups;
  groups.reserve(groups_.size());
  for (const auto& [key, group] : groups_) groups.push_back(&group);
  const auto order = [](const OperationGroup* g) { return std::tie(g->name, g->kind, g->group, g->job); };
  std::sort(groups.begin(), groups.end(), [&](const OperationGroup* a, const OperationGroup* b) {
    if (total_time(*a) != total_time(*b)) return total_time(*a) > total_time(*b);
    return order(a) < order(b);
  });
  groups.resize(std::min(groups.size(), limit));
  return groups;
}

}  // namespace rankwire
