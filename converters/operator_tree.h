// Which recorded operators enclose which, and which ran when, thread by thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "converters/kineto.h"

namespace rankwire {

class OperatorTree {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `operators` must outlive the tree; an operator that its enclosing one does not outlast is taken to end with it.
  explicit OperatorTree(std::span<const KinetoOperator> operators);

  /// The innermost operator that ran on the thread at that time, or kNone.
  uint32_t innermost(int64_t thread, int64_t time) const;
  uint32_t parent(uint32_t index) const { return parents_[index]; }
  /// Of all threads: operators by begin, enclosing ones before those within.
  const std::map<int64_t, std::vector<uint32_t>>& threads() const { return threads_; }

 private:
  std::span<const KinetoOperator> operators_;
  std::vector<uint32_t> parents_;
  std::map<int64_t, std::vector<uint32_t>> threads_;
};

}  // namespace rankwire
