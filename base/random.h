// Seeded randomness that is the same on every machine.
#pragma once

#include <cstdint>

#include "base/message.h"

namespace rankwire {

/// splitmix64: one 64-bit state, period 2^64, equal sequences for equal seeds everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix64(state_ += 0x9E3779B97F4A7C15u); }
  /// Uniform in [0, bound), bound > 0 (multiply-shift; the bias is below 2^-32 for bounds below 2^32).
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  /// True `parts_per_million` times in a million.
  bool chance(uint32_t parts_per_million) { return below(1'000'000) < parts_per_million; }
  /// Exponential of mean 1, in units of 2^-32, by comparisons alone (von Neumann, "Various techniques used in
  /// connection with random digits", 1951): of uniform numbers that fall up to the first that rises, the first one
  /// counts when the one that rises has an even place; otherwise the integer part grows by 1.
  uint64_t exponential() {
    for (uint64_t whole = 0;; ++whole) {
      const uint64_t first = next() >> 32;
      uint64_t last = first, place = 2;
      for (uint64_t value = next() >> 32; value <= last; value = next() >> 32, ++place) last = value;
      if (place % 2 == 0) return whole << 32 | first;
    }
  }

 private:
  uint64_t state_;
};

}  // namespace rankwire
