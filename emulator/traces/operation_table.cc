#include "emulator/traces/operation_table.h"

#include <algorithm>
#include <iterator>

#include "base/name_pattern.h"

namespace rankwire {

Duration OperationTally::median() const {
  uint64_t all = 0;
  for (const auto& [duration, times] : durations) all += times;
  uint64_t seen = 0;
  for (const auto& [duration, times] : durations) {
    seen += times;
    if (2 * seen >= all) return duration;
  }
  return Duration();
}

void OperationTally::merge(const OperationTally& other) {
  count += other.count;
  bytes += other.bytes;
  total += other.total;
  std::vector<std::pair<Duration, uint64_t>> merged;
  merged.reserve(durations.size() + other.durations.size());
  std::ranges::merge(durations, other.durations, std::back_inserter(merged));
  durations.clear();
  for (const auto& [duration, times] : merged) {
    if (!durations.empty() && durations.back().first == duration) {
      durations.back().second += times;
    } else {
      durations.emplace_back(duration, times);
    }
  }
}

OperationTally tally_of(std::vector<Duration> durations, Bytes bytes) {
  OperationTally tally{.count = durations.size(), .bytes = bytes};
  std::ranges::sort(durations);
  for (const Duration duration : durations) {
    tally.total += duration;
    if (!tally.durations.empty() && tally.durations.back().first == duration) {
      ++tally.durations.back().second;
    } else {
      tally.durations.emplace_back(duration, 1);
    }
  }
  return tally;
}

void OperationTable::add(OperationKey key, const OperationTally& tally) {
  if (patterns_) {
    std::string pattern;
    append_pattern(pattern, key.name);
    key.name = std::move(pattern);
  }
  operations_[std::move(key)].merge(tally);
  if (!patterns_ && operations_.size() > kMostNames) use_patterns();
}

void OperationTable::use_patterns() {
  if (patterns_) return;
  patterns_ = true;
  for (const auto& [key, tally] : std::exchange(operations_, {})) add(key, tally);
}

void OperationTable::merge(OperationTable other) {
  if (other.patterns_) use_patterns();
  for (const auto& [key, tally] : other.operations_) add(key, tally);
}

Duration OperationTable::total() const {
  Duration sum;
  for (const auto& [key, tally] : operations_) sum += tally.total;
  return sum;
}

std::vector<std::pair<const OperationKey*, const OperationTally*>> OperationTable::sorted() const {
  std::vector<std::pair<const OperationKey*, const OperationTally*>> list;
  for (const auto& [key, tally] : operations_) list.emplace_back(&key, &tally);
  std::ranges::stable_sort(list, [](const auto& a, const auto& b) {
    return std::pair(a.second->total, a.second->bytes) > std::pair(b.second->total, b.second->bytes);
  });
  return list;
}

}  // namespace rankwire
