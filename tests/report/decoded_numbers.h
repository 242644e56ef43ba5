// What the page's columns of numbers say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankwire::testing {

/// Each is told by what it is more than the one before, by the definition of source maps' VLQ: five bits a digit, the
/// lowest first, 32 for more, the lowest bit the sign.
inline std::vector<int64_t> decoded_numbers(const std::string& text) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<int64_t> numbers;
  int64_t sum = 0;
  for (size_t at = 0; at < text.size();) {
    uint64_t value = 0, digit = 32;
    for (int shift = 0; (digit & 32) != 0; shift += 5) {
      digit = kDigits.find(text[at++]);
      value |= (digit & 31) << shift;
    }
    const auto magnitude = static_cast<int64_t>(value >> 1);
    numbers.push_back(sum += (value & 1) != 0 ? -magnitude : magnitude);
  }
  return numbers;
}

}  // namespace rankwire::testing
