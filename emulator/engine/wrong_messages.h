// Which operations received messages whose payload was not theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "emulator/engine/plan.h"

namespace rankwire {

/// Counts by receiving node, over all iterations. Its shard's thread alone; no allocation after construction.
class WrongMessages {
 public:
  /// Has no nodes, and is told of none.
  WrongMessages() = default;
  explicit WrongMessages(const Plan& plan) : first_{0} {
    for (const std::vector<NodePlan>& nodes : plan.nodes) first_.push_back(first_.back() + nodes.size());
    counts_.resize(first_.back());
  }

  void add(RankId rank, uint32_t node) noexcept { ++counts_[first_[rank.value] + node]; }

  /// `visit(rank, node, messages)` of each node that received any, by rank and node.
  template <class Visit>
  void for_each(Visit visit) const {
    for (uint32_t rank = 0; rank + 1 < first_.size(); ++rank) {
      for (uint64_t i = first_[rank]; i < first_[rank + 1]; ++i) {
        if (counts_[i] != 0) visit(RankId(rank), static_cast<uint32_t>(i - first_[rank]), uint64_t{counts_[i]});
      }
    }
  }

 private:
  std::vector<uint64_t> first_;  // by rank: where its nodes begin in counts_
  std::vector<uint32_t> counts_;
};

}  // namespace rankwire
