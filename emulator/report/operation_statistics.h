// The operations of a record in bounded memory: totals by pattern of name, and the few that matter most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/report/top_operations.h"

namespace rankwire {

/// The mean of values that some rows have.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }
  /// Of durations in picoseconds.
  std::optional<Duration> duration() const {
    return count_ == 0 ? std::nullopt : std::optional(Duration(static_cast<int64_t>(*value() + 0.5)));
  }
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
  uint64_t count_ = 0;
};

/// The bandwidth of several executions after each other: all bits over all time.
class MeanBandwidth {
 public:
  /// `gbps` for `time`.
  void add(double gbps, Duration time) {
    weighted_ += gbps * static_cast<double>(time.ps);
    time_ += static_cast<double>(time.ps);
  }
  std::optional<double> gbps() const { return time_ > 0 ? std::optional(weighted_ / time_) : std::nullopt; }

 private:
  double weighted_ = 0, time_ = 0;
};

/// All executions, on all ranks of a job and iterations, of nodes whose kind and patterns of name and group are the
/// same.
struct OperationGroup {
  std::string name, kind, group;  ///< name and group with # for each number: "layer#.grads"
  JobId job;
  uint64_t count = 0;
  Bytes smallest, largest;
  Mean emulated, reference, recorded;  ///< durations in picoseconds
  MeanBandwidth bus;                   ///< emulated, of the reference where nothing was emulated
  Duration worst;  ///< longest emulated duration; longest reference duration where nothing was emulated

  /// Mean emulated over mean reference.
  std::optional<double> ratio() const;
};

class OperationStatistics {
 public:
  /// Patterns beyond this number are put together as "(other)", one for each kind and job.
  static constexpr size_t kMaxGroups = 10'000;

  /// `listed` bounds `deviations` and `longest`.
  explicit OperationStatistics(size_t listed) : deviations_(listed), longest_(listed) {}

  void add(const OperationRow& row);

  uint64_t count() const { return count_; }
  /// Executions that both sides have.
  uint64_t compared() const { return compared_; }
  /// The groups with the most total time (emulated, else reference), at most `limit`.
  std::vector<const OperationGroup*> groups(size_t limit) const;
  size_t group_count() const { return groups_.size(); }
  /// Of each communication operation (by job, name and kind, receives apart) the execution with the most extra time, if
  /// that is noteworthy; most extra time first.
  std::vector<OperationRow> deviations() const { return deviations_.list(); }
  /// Of each communication operation, receives apart, the longest execution (emulated, else reference), longest first.
  std::vector<OperationRow> longest() const { return longest_.list(); }

 private:
  OperationGroup& group_of(const NodeInfo& node);

  uint64_t count_ = 0, compared_ = 0;
  std::unordered_map<std::string, OperationGroup> groups_;
  std::string key_;
  TopOperations deviations_, longest_;
};

}  // namespace rankwire
