// A node of a trace with memory of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "proto/trace_node.h"

namespace rankwire {

/// TraceNode's views point into what its reader overwrites; these point into a copy. Taking again uses the memory that
/// is there. Does not move: the views would not follow.
class KeptNode {
 public:
  KeptNode() = default;
  KeptNode(const KeptNode&) = delete;
  KeptNode& operator=(const KeptNode&) = delete;

  /// Leaves `node` with the memory of the node before. `frame` is what all its views point into, empty where that is
  /// not one place.
  void take(TraceNode& node, std::string_view frame);
  const TraceNode& node() const noexcept { return node_; }
  /// Beside the object itself.
  size_t bytes() const noexcept;

 private:
  void copy_frame(std::string_view frame);
  void copy_texts();

  TraceNode node_;
  std::string text_;  ///< the frame, or else everything that the node's views show, one behind the other
};

}  // namespace rankwire
