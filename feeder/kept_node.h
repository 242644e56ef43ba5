// A node of a trace with memory of its own.
#pragma once

#include <cstddef>
#include <string>

#include "proto/trace_node.h"

namespace rankwire {

/// TraceNode's views point into what its reader overwrites; these point into a copy. Assigning again uses the memory
/// that is there. Does not move: the views would not follow.
class KeptNode {
 public:
  KeptNode() = default;
  KeptNode(const KeptNode&) = delete;
  KeptNode& operator=(const KeptNode&) = delete;

  void assign(const TraceNode& node);
  const TraceNode& node() const noexcept { return node_; }
  /// Beside the object itself.
  size_t bytes() const noexcept;

 private:
  TraceNode node_;
  std::string text_;  ///< everything that the node's views show, one behind the other
};

}  // namespace rankwire
