// Operations of one name, counted and timed over many ranks.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace rankwire {

struct OperationKey {
  std::string kind, name;
  auto operator<=>(const OperationKey&) const = default;
};

struct OperationTally {
  uint64_t count = 0;
  Bytes bytes;
  Duration total;
  std::vector<std::pair<Duration, uint64_t>> durations;  ///< each with how often it occurs, ascending

  Duration least() const { return durations.empty() ? Duration() : durations.front().first; }
  Duration most() const { return durations.empty() ? Duration() : durations.back().first; }
  /// The lower one of the two in the middle.
  Duration median() const;
  void merge(const OperationTally& other);
};

/// Of operations with these durations, which need not be sorted.
OperationTally tally_of(std::vector<Duration> durations, Bytes bytes);

/// Names count as they are until there are more than kMostNames of them; then those that differ in numbers alone are
/// one. What is in the end is the same in whatever order tables are merged.
class OperationTable {
 public:
  static constexpr size_t kMostNames = 500;

  void add(OperationKey key, const OperationTally& tally);
  void merge(OperationTable other);

  const std::map<OperationKey, OperationTally>& operations() const { return operations_; }
  /// Numbers in names have become '#'.
  bool has_patterns() const { return patterns_; }
  /// Makes the numbers of all names '#', as another table has them.
  void use_patterns();
  /// Of all operations.
  Duration total() const;
  /// The most time first, then the most bytes.
  std::vector<std::pair<const OperationKey*, const OperationTally*>> sorted() const;

 private:
  std::map<OperationKey, OperationTally> operations_;
  bool patterns_ = false;
};

}  // namespace rankwire
