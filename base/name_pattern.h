// Names that differ in their numbers alone, as one.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace rankwire {

/// Appends the text with '#' for each run of digits: "layer#.grads". A size stays, "all_reduce size=8 iteration #", for
/// what differs in it is not alike.
inline void append_pattern(std::string& key, std::string_view text) {
  constexpr std::string_view kSize = "size=";
  bool in_number = false;
  size_t stays = 0;  // places from here on
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '=' && text.substr(0, i + 1).ends_with(kSize))
      stays = std::min(text.find_first_not_of("0123456789", i + 1), text.size());
    if (i < stays) {
      key += c;
      continue;
    }
    const bool digit = c >= '0' && c <= '9';
    if (!digit) key += c;
    if (digit && !in_number) key += '#';
    in_number = digit;
  }
}

}  // namespace rankwire
