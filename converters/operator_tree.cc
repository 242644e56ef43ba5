#include "converters/operator_tree.h"

#include <algorithm>

namespace rankwire {

OperatorTree::OperatorTree(std::span<const KinetoOperator> operators)
    : operators_(operators), parents_(operators.size(), kNone) {
  for (uint32_t i = 0; i < operators.size(); ++i) threads_[operators[i].thread].push_back(i);
  for (auto& [thread, indices] : threads_) {
    std::ranges::stable_sort(indices, [&](uint32_t a, uint32_t b) {
      if (operators[a].begin != operators[b].begin) return operators[a].begin < operators[b].begin;
      return operators[a].end > operators[b].end;
    });
    std::vector<uint32_t> open;
    for (const uint32_t index : indices) {
      while (!open.empty() && operators[open.back()].end <= operators[index].begin) open.pop_back();
      if (!open.empty()) parents_[index] = open.back();
      open.push_back(index);
    }
  }
}

uint32_t OperatorTree::innermost(int64_t thread, int64_t time) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return kNone;
  const std::vector<uint32_t>& indices = found->second;
  const auto after =
      std::ranges::upper_bound(indices, time, {}, [&](uint32_t index) { return operators_[index].begin; });
  if (after == indices.begin()) return kNone;
  uint32_t index = *std::prev(after);
  while (index != kNone && operators_[index].end <= time) index = parents_[index];
  return index;
}

}  // namespace rankwire
