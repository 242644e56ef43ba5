#include "emulator/collective/pieces.h"

#include <algorithm>

namespace rankwire {

Pieces joined(std::vector<Extent> extents) {
  std::sort(extents.begin(), extents.end());
  Pieces pieces;
  for (const Extent& extent : extents) {
    if (extent.bytes == Bytes(0)) continue;
    if (!pieces.empty() && pieces.back().offset + pieces.back().bytes == extent.offset)
      pieces.back().bytes += extent.bytes;
    else
      pieces.push_back(extent);
  }
  return pieces;
}

Bytes size_of(std::span<const Extent> pieces) {
  Bytes sum;
  for (const Extent& piece : pieces) sum += piece.bytes;
  return sum;
}

Pieces cut(std::span<const Extent> pieces, Bytes begin, Bytes bytes) {
  Pieces result;
  const Bytes end = begin + bytes;
  Bytes passed;
  for (const Extent& piece : pieces) {
    const Bytes first = std::max(begin, passed), last = std::min(end, passed + piece.bytes);
    if (first < last) result.push_back({piece.offset + (first - passed), last - first});
    passed += piece.bytes;
  }
  return result;
}

Pieces blocks_around(std::span<const Extent> blocks, uint32_t first, uint32_t count) {
  std::vector<Extent> extents;
  for (uint32_t i = 0; i < count; ++i) extents.push_back(blocks[(first + i) % blocks.size()]);
  return joined(std::move(extents));
}

}  // namespace rankwire
