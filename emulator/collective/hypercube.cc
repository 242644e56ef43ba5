#include "emulator/collective/hypercube.h"

#include <bit>

namespace rankwire {

Hypercube::Hypercube(uint32_t members, uint32_t root)
    : root_(root),
      dimensions_(static_cast<uint32_t>(std::bit_width(members)) - 1),
      extras_(members - (1u << dimensions_)) {}

uint32_t Hypercube::member_at(uint32_t vertex) const {
  const uint32_t first = first_member(vertex);
  return is_paired(first) && root_ == pair_of(first) ? root_ : first;
}

Pieces Hypercube::blocks_of(const std::vector<Extent>& blocks, uint32_t first, uint32_t count) const {
  const uint32_t begin = first_member(first), end = first_member(first + count);
  return joined({blocks.begin() + begin, blocks.begin() + end});
}

}  // namespace rankwire
