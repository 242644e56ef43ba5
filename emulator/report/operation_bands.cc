#include "emulator/report/operation_bands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/name_pattern.h"

namespace rankwire {
namespace {

/// What SQLite gave back as text has no NUL.
void append_rest(std::string& key, std::string_view kind, JobId job) {
  key += '\0';
  key += kind;
  key += '\0';
  key.append(reinterpret_cast<const char*>(&job.value), sizeof job.value);
}

}  // namespace

OperationBands::OperationBands(const RunReader& record) {
  std::unordered_map<std::string, std::vector<Duration>> times;
  for (const EnsembleOperation& row : record.ensemble_operations()) {
    key_ = row.name + '\0' + row.group;
    append_rest(key_, row.kind, row.job);
    times[key_].push_back(row.mean);
  }
  for (auto& [key, of_members] : times)
    bands_.emplace(key, Band{.band = band_of(std::move(of_members)), .longest = Duration()});
  if (bands_.empty()) return;
  record.for_each_operation([&](const OperationRow& row) {
    if (!row.reference) return;
    set_key(row.node);
    const auto band = bands_.find(key_);
    if (band == bands_.end()) return;
    band->second.shortest = std::min(band->second.shortest, row.reference->duration());
    band->second.longest = std::max(band->second.longest, row.reference->duration());
  });
}

bool OperationBands::Band::is_of_each() const {
  if (longest < shortest) return true;  // the reference has none
  return longest - shortest <= std::max(band.high - band.low, Duration(band.median.ps / 100));
}

const ReferenceBand* OperationBands::of(const NodeInfo& node) {
  if (bands_.empty()) return nullptr;
  set_key(node);
  const Band* const found = find();
  return found != nullptr && found->is_of_each() ? &found->band : nullptr;
}

const ReferenceBand* OperationBands::of_mean(const NodeInfo& node) {
  if (bands_.empty()) return nullptr;
  set_key(node);
  const Band* const found = find();
  return found == nullptr ? nullptr : &found->band;
}

void OperationBands::set_key(const NodeInfo& node) {
  key_.clear();
  append_pattern(key_, node.name);
  key_ += '\0';
  append_pattern(key_, node.group);
  append_rest(key_, node.kind, node.job);
}

const ReferenceBand* OperationBands::of_pattern(std::string_view name, std::string_view kind, std::string_view group,
                                                JobId job) {
  if (bands_.empty()) return nullptr;
  key_ = name;
  key_ += '\0';
  key_ += group;
  append_rest(key_, kind, job);
  const Band* const found = find();
  return found == nullptr ? nullptr : &found->band;
}

const OperationBands::Band* OperationBands::find() const {
  const auto found = bands_.find(key_);
  return found == bands_.end() ? nullptr : &found->second;
}

}  // namespace rankwire
