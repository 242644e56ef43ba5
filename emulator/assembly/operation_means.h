// How long operations take on average in a run that is not recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// The nodes of a workload, told apart by kind, job and patterns of name and group. Constant once it is made.
class OperationPatterns {
 public:
  /// Nodes of more patterns than these are left out.
  static constexpr size_t kMost = 10'000;

  explicit OperationPatterns(const Setup& setup);

  struct Pattern {
    std::string name, kind, group;  ///< with # for each number
    JobId job;
  };
  const std::vector<Pattern>& all() const { return patterns_; }
  /// Its place in `all`; absent of what is left out.
  std::optional<uint32_t> of(RankId rank, uint32_t place) const noexcept;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<Pattern> patterns_;
  std::vector<std::vector<uint32_t>> of_node_;  // by rank and place in its file
};

/// Of one run, by pattern. Nothing allocates after construction.
class OperationMeans final : public RecordSink {
 public:
  /// `patterns` outlives it.
  explicit OperationMeans(const OperationPatterns& patterns);

  void operations(std::span<const OperationRecord> rows) noexcept override;
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }

  /// Rounded down; absent where nothing of the pattern was executed.
  std::optional<Duration> mean(size_t pattern) const;

 private:
  struct Sum {
    __int128 picoseconds = 0;
    uint64_t count = 0;
  };

  const OperationPatterns& patterns_;
  std::vector<Sum> sums_;  // by pattern
};

}  // namespace rankwire
