// What people call the ranks of a record.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/id.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Ranks of the trace have numbers, within their jobs where there are several. Behind them are the aggregators of the
/// configuration, in its order, with names, and behind those the ends of traffic without a trace.
class RankNames {
 public:
  explicit RankNames(const RunReader& record);

  /// "3", "a:3" in job a, "spine" of an aggregator, or "host 2" of the background.
  std::string operator()(uint64_t rank) const;
  std::string operator()(RankId rank) const { return (*this)(rank.value); }
  /// The same in a sentence: "rank 3", "rank 3 of job a", "spine".
  std::string titled(uint64_t rank) const;
  /// Where there is little room: "rank 3", "a:3" in job a, "spine".
  std::string label(uint64_t rank) const;

  const std::vector<std::string>& aggregators() const { return aggregators_; }
  /// Its rank.
  uint64_t first_aggregator() const { return first_; }

 private:
  /// Empty for others.
  std::string end_of_background(uint64_t rank) const;
  bool is_aggregator(uint64_t rank) const { return rank >= first_ && rank - first_ < aggregators_.size(); }

  /// Null where there are fewer than two jobs.
  const JobInfo* job_of(uint64_t rank) const;

  std::vector<JobInfo> jobs_;
  std::vector<std::string> aggregators_;
  uint64_t first_ = 0;
  std::map<RankId, std::string> background_;
};

}  // namespace rankwire
