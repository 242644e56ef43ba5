#include "emulator/collective/binary_tree.h"

namespace rankwire {
namespace {

/// The tree with every number replaced.
template <class Rename>
TreePlace renamed(TreePlace place, Rename rename) {
  if (place.parent) place.parent = rename(*place.parent);
  for (uint32_t& child : place.children) child = rename(child);
  return place;
}

}  // namespace

TreePlace binary_tree(uint32_t n, uint32_t i) {
  uint32_t bit = 1;
  while (bit < n && (i & bit) == 0) bit *= 2;
  TreePlace place;
  if (i == 0) {
    if (n > 1) place.children.push_back(bit / 2);
    return place;
  }
  // A node of lowest bit b lies between two multiples of 2b; its parent is the one that is odd in units of 2b, unless
  // there is no such node.
  const uint32_t above = (i ^ bit) | bit * 2;
  place.parent = above < n ? above : i ^ bit;
  place.is_first_child = i < *place.parent;
  if (bit == 1) return place;
  place.children.push_back(i - bit / 2);
  // Above the node the largest subtree that has a root.
  uint32_t distance = bit / 2;
  while (distance > 0 && i + distance >= n) distance /= 2;
  if (distance > 0) place.children.push_back(i + distance);
  return place;
}

TreePlace complementary_binary_tree(uint32_t n, uint32_t i) {
  if (n % 2 == 1) return renamed(binary_tree(n, (i + n - 1) % n), [&](uint32_t node) { return (node + 1) % n; });
  return renamed(binary_tree(n, n - 1 - i), [&](uint32_t node) { return n - 1 - node; });
}

}  // namespace rankwire
