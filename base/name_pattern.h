// Names that differ in their numbers alone, as one.
#pragma once

#include <string>
#include <string_view>

namespace rankwire {

/// Appends the text with '#' for each run of digits: "layer#.grads".
inline void append_pattern(std::string& key, std::string_view text) {
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) key += c;
    if (digit && !in_number) key += '#';
    in_number = digit;
  }
}

}  // namespace rankwire
