// How long something may take in a run that is recorded and drawn.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

/// 2^61 ps, 26 days: sums and differences of a few such times are no overflow. Times of one thing are held against it;
/// sums over many things are made by `bounded_sum`.
inline constexpr Duration kLongestTold{int64_t{1} << 61};

/// a + b, or the largest or smallest duration where that does not fit.
constexpr Duration bounded_sum(Duration a, Duration b) noexcept {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a.ps, b.ps, &sum)) return Duration(sum);
  return a.ps < 0 ? Duration(0) - Duration::max() : Duration::max();
}

}  // namespace rankwire
