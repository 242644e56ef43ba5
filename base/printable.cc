#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

namespace rankwire {
namespace {

/// A character of `length` bytes, 0 of a byte that is none.
bool is_control(std::string_view text, size_t length) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (length == 2) return first == 0xC2 && static_cast<uint8_t>(text[1]) < 0xA0;  // U+0080 .. U+009F
  return length == 0 || (length == 1 && (first < 0x20 || first == 0x7F));
}

std::string made_visible(std::string_view text, bool one_line) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text), taken = std::max<size_t>(length, 1);
    if (!is_control(text, length) || (!one_line && (text[0] == '\n' || text[0] == '\t'))) {
      shown += text.substr(0, taken);
    } else if (text[0] == '\n' || text[0] == '\t') {
      shown += text[0] == '\n' ? "\\n" : "\\t";
    } else {
      for (const char c : text.substr(0, taken))
        fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<uint8_t>(c));
    }
    text.remove_prefix(taken);
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) {
  return made_visible(text, false);
}

std::string printable_line(std::string_view text) {
  return made_visible(text, true);
}

std::string with_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    valid += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace rankwire
