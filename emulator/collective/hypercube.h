// A group of any size on a hypercube, for algorithms that need a power of two.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/collective/pieces.h"

namespace rankwire {

/// The largest power of two that is at most the number of members has a vertex each; the others, `extras`, are served
/// by one on a vertex. As in MPICH (Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations
/// in MPICH", IJHPCA 19 (2005)) members 2i and 2i+1 are such a pair for i < extras, so that the members of consecutive
/// vertices are consecutive.
class Hypercube {
 public:
  /// `root` always has a vertex.
  Hypercube(uint32_t members, uint32_t root);

  uint32_t dimensions() const { return dimensions_; }
  uint32_t vertices() const { return 1u << dimensions_; }
  uint32_t extras() const { return extras_; }

  bool has_vertex(uint32_t member) const { return member >= 2 * extras_ || member_at(member / 2) == member; }
  /// The vertex of the member, or of the one that serves it.
  uint32_t vertex_of(uint32_t member) const { return member < 2 * extras_ ? member / 2 : member - extras_; }
  uint32_t member_at(uint32_t vertex) const;
  /// Whether the member is one of a pair, and the other one.
  bool is_paired(uint32_t member) const { return member < 2 * extras_; }
  static uint32_t pair_of(uint32_t member) { return member ^ 1; }

  /// Blocks, one a member, of the members of `count` vertices from `first` on, extras included.
  Pieces blocks_of(const std::vector<Extent>& blocks, uint32_t first, uint32_t count) const;

 private:
  uint32_t first_member(uint32_t vertex) const { return vertex < extras_ ? 2 * vertex : vertex + extras_; }

  uint32_t root_, dimensions_, extras_;
};

}  // namespace rankwire
