#include "emulator/report/operation_statistics.h"

#include <algorithm>
#include <tuple>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

bool larger_excess(const OperationRow& a, const OperationRow& b) {
  return excess(a) > excess(b);
}

double total_time(const OperationGroup& group) {
  return group.emulated.mean() ? group.emulated.sum() : group.reference.sum();
}

}  // namespace

std::optional<double> OperationGroup::ratio() const {
  const auto e = emulated.mean(), r = reference.mean();
  if (!e || !r) return std::nullopt;
  return ratio_of(*e, *r);
}

Duration excess(const OperationRow& row) {
  if (row.emulated && row.reference) return row.emulated->duration() - row.reference->duration();
  return row.emulated ? row.emulated->duration() : row.reference->duration();
}

OperationGroup& OperationStatistics::group_of(const OperationRow& row) {
  // A NUL cannot be part of a name that SQLite gave back as text.
  std::string key = row.node.name + '\0' + row.node.kind + '\0' + row.node.group;
  std::string name = row.node.name, group = row.node.group;
  if (groups_.size() >= kMaxGroups && !groups_.contains(key)) {
    key = '\0' + row.node.kind;
    name = "(other)";
    group.clear();
  }
  OperationGroup& entry = groups_[key];
  if (entry.count == 0) {
    entry.name = std::move(name);
    entry.kind = row.node.kind;
    entry.group = std::move(group);
  }
  return entry;
}

void OperationStatistics::add(const OperationRow& row) {
  ++count_;
  OperationGroup& group = group_of(row);
  ++group.count;
  group.bytes = row.node.bytes;
  if (row.emulated) group.emulated.add(row.emulated->duration());
  if (row.reference) group.reference.add(row.reference->duration());
  if (row.node.recorded) group.recorded.add(*row.node.recorded);
  group.worst = std::max(group.worst, row.emulated ? row.emulated->duration() : row.reference->duration());

  if (worst_limit_ == 0) return;
  if (worst_.size() == worst_limit_) {
    if (!larger_excess(row, worst_.front())) return;
    std::pop_heap(worst_.begin(), worst_.end(), larger_excess);
    worst_.pop_back();
  }
  worst_.push_back(row);
  std::push_heap(worst_.begin(), worst_.end(), larger_excess);
}

std::vector<const OperationGroup*> OperationStatistics::groups(size_t limit) const {
  std::vector<const OperationGroup*> groups;
  groups.reserve(groups_.size());
  for (const auto& [key, group] : groups_) groups.push_back(&group);
  const auto order = [](const OperationGroup* g) { return std::tie(g->name, g->kind, g->group); };
  std::sort(groups.begin(), groups.end(), [&](const OperationGroup* a, const OperationGroup* b) {
    if (total_time(*a) != total_time(*b)) return total_time(*a) > total_time(*b);
    return order(a) < order(b);
  });
  groups.resize(std::min(groups.size(), limit));
  return groups;
}

std::vector<OperationRow> OperationStatistics::worst() const {
  std::vector<OperationRow> rows = worst_;
  const auto order = [](const OperationRow& r) { return std::tuple(r.iteration, r.node.rank, r.node.node); };
  std::sort(rows.begin(), rows.end(), [&](const OperationRow& a, const OperationRow& b) {
    if (excess(a) != excess(b)) return excess(a) > excess(b);
    return order(a) < order(b);
  });
  return rows;
}

}  // namespace rankwire
