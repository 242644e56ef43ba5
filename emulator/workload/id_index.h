// Which of a trace's nodes has an id.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "emulator/workload/workload.h"

namespace rankwire {

/// Ids that count up from any number are computed with; others that are dense, as nearly all are, are looked up in a
/// table, and the rest among their sorted list. Memory: at most 16 bytes a node, or 4 an id up to four times as many as
/// nodes.
class IdIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `nodes` need not outlive the index.
  explicit IdIndex(std::span<const Node> nodes);
  /// Of `count` nodes whose ids count up from `first`.
  IdIndex(uint64_t first, size_t count) : first_(first), counted_(count) {}

  /// The node's index, or kNone.
  uint32_t find(uint64_t id) const noexcept {
    if (counted_ > 0) return id - first_ < counted_ ? static_cast<uint32_t>(id - first_) : kNone;
    return look_up(id);
  }
  /// Two nodes that have the same id, the first of them in the file first; `find` knows that one.
  const std::optional<std::pair<uint32_t, uint32_t>>& repeated() const noexcept { return repeated_; }

 private:
  void make_table(std::span<const Node> nodes, uint64_t size);
  void make_list(std::span<const Node> nodes);

  uint32_t look_up(uint64_t id) const noexcept;

  uint64_t first_ = 0, counted_ = 0;                 ///< of ids that count up, the first and how many
  std::vector<uint32_t> table_;                      ///< by id
  std::vector<std::pair<uint64_t, uint32_t>> list_;  ///< sorted
  std::optional<std::pair<uint32_t, uint32_t>> repeated_;
};

}  // namespace rankwire
