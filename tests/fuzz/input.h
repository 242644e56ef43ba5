// A fuzzer's bytes as a sequence of choices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace rankwire::fuzz {

/// Zeros once the bytes are used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  uint16_t word() {
    const uint8_t high = byte();
    return static_cast<uint16_t>(high << 8 | byte());
  }
  /// At most `length` bytes, as a block of memory of just their size, so that a read beyond its end is seen.
  std::vector<uint8_t> bytes(size_t length) {
    length = std::min(length, rest_.size());
    std::vector<uint8_t> taken(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length));
    rest_ = rest_.subspan(length);
    return taken;
  }
  std::vector<uint8_t> rest() { return bytes(rest_.size()); }

 private:
  std::span<const uint8_t> rest_;
};

/// What must hold for every input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

}  // namespace rankwire::fuzz
