// The two trees of NCCL's double binary tree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rankwire {

struct TreePlace {
  std::optional<uint32_t> parent;  ///< none: the root
  bool is_first_child = false;     ///< of the parent: the one whose subtree comes before it in the tree's numbers
  std::vector<uint32_t> children;  ///< at most two, the first one first

  bool operator==(const TreePlace&) const = default;
};

/// Where node `i` of `n` stands in a tree whose leaves are the odd numbers and whose root is 0 (NCCL 2.30.7,
/// graph/trees.cc, ncclGetBtree): in sequence, a node stands between the nodes of its subtrees.
TreePlace binary_tree(uint32_t n, uint32_t i);

/// The same of numbers shifted by one, or, of an even number of nodes, mirrored, so that the leaves of one tree are
/// inside the other (ncclGetDtree; Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
/// and scan", Parallel Computing 35 (2009)).
TreePlace complementary_binary_tree(uint32_t n, uint32_t i);

}  // namespace rankwire
