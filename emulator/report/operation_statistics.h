// The operations of a record in bounded memory: totals by name, and the few that matter most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// The mean of durations that a side has; sums in picoseconds.
class MeanDuration {
 public:
  void add(Duration duration) {
    sum_ += static_cast<double>(duration.ps);
    ++count_;
  }
  std::optional<Duration> mean() const {
    if (count_ == 0) return std::nullopt;
    return Duration(static_cast<int64_t>(sum_ / static_cast<double>(count_) + 0.5));
  }
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
  uint64_t count_ = 0;
};

/// All executions, on all ranks and iterations, of nodes with one name, kind and group.
struct OperationGroup {
  std::string name, kind, group;
  uint64_t count = 0;
  Bytes bytes;  ///< of the last one
  MeanDuration emulated, reference, recorded;
  Duration worst;  ///< longest emulated duration; longest reference duration where nothing was emulated

  /// Mean emulated over mean reference.
  std::optional<double> ratio() const;
};

/// How far an execution took longer than its reference; its own duration where one side is absent.
Duration excess(const OperationRow& row);

class OperationStatistics {
 public:
  /// Names beyond this number are put together as "(other)", one for each kind.
  static constexpr size_t kMaxGroups = 10'000;

  explicit OperationStatistics(size_t worst_limit) : worst_limit_(worst_limit) {}

  void add(const OperationRow& row);

  uint64_t count() const { return count_; }
  /// The groups with the most total time (emulated, else reference), at most `limit`.
  std::vector<const OperationGroup*> groups(size_t limit) const;
  size_t group_count() const { return groups_.size(); }
  /// The executions with the largest excess, largest first.
  std::vector<OperationRow> worst() const;

 private:
  OperationGroup& group_of(const OperationRow& row);

  const size_t worst_limit_;
  uint64_t count_ = 0;
  std::unordered_map<std::string, OperationGroup> groups_;
  std::vector<OperationRow> worst_;  // a heap with the least excess on top
};

}  // namespace rankwire
