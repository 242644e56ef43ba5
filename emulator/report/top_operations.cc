#include "emulator/report/top_operations.h"

#include <algorithm>
#include <tuple>

#include "emulator/report/activity.h"

namespace rankwire {

std::optional<Duration> extra_time(const OperationRow& row) {
  if (!row.emulated || !row.reference) return std::nullopt;
  return row.emulated->duration() - row.reference->duration();
}

bool shows_the_network(std::string_view kind) {
  return activity_of(kind) == Activity::kCommunication && kind != "receive" && kind != "unknown";
}

bool is_noteworthy(Duration extra, Duration reference) {
  return extra > Duration(0) && (extra >= microseconds(10) || extra.ps >= reference.ps / 100);
}

bool TopOperations::before(const Entry& a, const Entry& b) {
  if (a.key != b.key) return a.key > b.key;
  const auto order = [](const OperationRow& r) { return std::tuple(r.iteration, r.node.rank, r.node.node); };
  return order(a.row) < order(b.row);
}

void TopOperations::add(const OperationRow& row, Duration key) {
  if (limit_ == 0 || key <= floor_) return;
  // A NUL cannot be part of a name that SQLite gave back as text.
  name_.assign(row.node.name).append(1, '\0').append(row.node.kind).append(1, '\0');
  name_.append(reinterpret_cast<const char*>(&row.node.job.value), sizeof row.node.job.value);
  const auto [entry, inserted] = entries_.try_emplace(name_, Entry{key, row});
  if (!inserted && key > entry->second.key) entry->second = {key, row};
  if (entries_.size() == 2 * limit_) prune();
}

std::vector<const TopOperations::Entries::value_type*> TopOperations::sorted() const {
  std::vector<const Entries::value_type*> entries;
  entries.reserve(entries_.size());
  for (const auto& entry : entries_) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) { return before(a->second, b->second); });
  return entries;
}

void TopOperations::prune() {
  const auto entries = sorted();
  floor_ = entries[limit_ - 1]->second.key;
  std::vector<std::string> names;
  for (size_t i = limit_; i < entries.size(); ++i) names.push_back(entries[i]->first);
  for (const std::string& name : names) entries_.erase(name);
}

std::vector<OperationRow> TopOperations::list() const {
  std::vector<OperationRow> rows;
  for (const auto* entry : sorted()) {
    if (rows.size() == limit_) break;
    rows.push_back(entry->second.row);
  }
  return rows;
}

}  // namespace rankwire
