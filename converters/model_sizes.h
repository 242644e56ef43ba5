// Arithmetic of model sizes, which users may choose too large.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/units.h"

namespace rankwire {

/// Throws Error(kInput) when the value exceeds 2^63 - 1; factors and addends are >= 0.
int64_t checked_size(__int128 value);
int64_t size_product(std::initializer_list<int64_t> factors);
int64_t size_sum(std::initializer_list<int64_t> addends);
/// divisor > 0.
constexpr int64_t divide_up(int64_t dividend, int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

/// flops / peak (flop/s) in microseconds, rounded up, at least 1.
uint64_t micros_at_peak(int64_t flops, int64_t peak);
/// The time of so many bytes, likewise.
uint64_t micros_of(Bytes size, Bandwidth rate);

}  // namespace rankwire
