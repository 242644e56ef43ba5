// What people call the ranks of a record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Ranks of the trace have numbers. Behind them are the aggregators of the configuration, in its order, with names.
class RankNames {
 public:
  explicit RankNames(const RunReader& record);

  /// "3", or "spine" of an aggregator.
  std::string operator()(uint64_t rank) const;
  std::string operator()(RankId rank) const { return (*this)(rank.value); }
  /// The same in a sentence: "rank 3", "spine".
  std::string titled(uint64_t rank) const;

  const std::vector<std::string>& aggregators() const { return aggregators_; }
  /// Its rank.
  uint64_t first_aggregator() const { return first_; }

 private:
  bool is_aggregator(uint64_t rank) const { return rank >= first_ && rank - first_ < aggregators_.size(); }

  std::vector<std::string> aggregators_;
  uint64_t first_ = 0;
};

}  // namespace rankwire
