// Data of one message that stands in several places of the operation's buffer.
#pragma once

#include <span>
#include <vector>

#include "emulator/collective/partition.h"

namespace rankwire {

/// Extents without overlap, in ascending order, none empty and no two adjacent. A message carries them one after
/// another.
using Pieces = std::vector<Extent>;

/// The same bytes in that form.
Pieces joined(std::vector<Extent> extents);

Bytes size_of(std::span<const Extent> pieces);

/// `bytes` bytes from `begin` on, counted as the message carries them; at most to the end.
Pieces cut(std::span<const Extent> pieces, Bytes begin, Bytes bytes);

/// The blocks `first`, `first` + 1, ... of a circle of blocks, `count` of them.
Pieces blocks_around(std::span<const Extent> blocks, uint32_t first, uint32_t count);

}  // namespace rankwire
