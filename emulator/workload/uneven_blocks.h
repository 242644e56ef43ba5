// Collectives whose members exchange blocks of different sizes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// By group and sequence, as ScheduleRequest::blocks has them: where each block of the operation's buffer begins, and
/// where the last ends. Equal lists are kept once, so that two operations are alike where their lists are one object.
class UnevenBlocks {
 public:
  void add(GroupId group, uint32_t sequence, std::vector<Bytes> begins) {
    auto list = std::make_shared<const std::vector<Bytes>>(std::move(begins));
    of_[{group.value, sequence}] = *distinct_.insert(std::move(list)).first;
  }

  /// Those of other groups, whose ids are `groups` higher here.
  void append(const UnevenBlocks& other, uint32_t groups) {
    for (const auto& [operation, list] : other.of_)
      of_[{operation.first + groups, operation.second}] = *distinct_.insert(list).first;
  }

  /// Empty where all blocks are equal. Valid as long as the object or a copy of it.
  std::span<const Bytes> of(GroupId group, uint32_t sequence) const {
    if (of_.empty()) return {};
    const auto known = of_.find({group.value, sequence});
    return known == of_.end() ? std::span<const Bytes>() : std::span<const Bytes>(*known->second);
  }

 private:
  using List = std::shared_ptr<const std::vector<Bytes>>;
  struct ByValue {
    bool operator()(const List& a, const List& b) const { return *a < *b; }
  };

  std::set<List, ByValue> distinct_;
  std::map<std::pair<uint32_t, uint32_t>, List> of_;
};

/// By rank and node: the sizes that a collective's attribute `comm_splits` lists, scaled; only such nodes.
using SplitSizes = std::vector<std::map<uint32_t, std::vector<Bytes>>>;

}  // namespace rankwire
