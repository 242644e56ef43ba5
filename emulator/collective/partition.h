// Division of a buffer among members, channels and slices, always in whole elements.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

/// A contiguous piece of an operation's buffer.
struct Extent {
  Bytes offset;
  Bytes bytes;
  constexpr auto operator<=>(const Extent&) const = default;
};

/// Part `i` of `n` of an extent that holds a whole number of elements. The parts follow one another without gap; the
/// first (elements mod n) parts are one element longer, and with fewer elements than parts the last ones are empty.
Extent partition(Extent whole, uint32_t i, uint32_t n, Bytes element);

}  // namespace rankwire
