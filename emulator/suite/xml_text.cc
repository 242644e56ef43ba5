#include "emulator/suite/xml_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

namespace rankwire {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the character of UTF-8 (RFC 3629) that `text` begins with; 0 where it is none, or none of XML's.
size_t length_of_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  const size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  uint32_t code = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
    code = code << 6u | (byte(i) & 0x3Fu);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return too_long || surrogate || code > 0x10FFFF || code == 0xFFFE || code == 0xFFFF ? 0 : length;
}

void add_ascii(std::string& out, char c, bool keep_space) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\n':
    case '\t':
      if (keep_space) break;
      [[fallthrough]];
    case '\r':
      out += fmt::format("&#{};", static_cast<int>(c));
      return;
    default:
      if (c >= 0x20) break;
      out += fmt::format("\\x{:02x}", static_cast<int>(c));
      return;
  }
  out += c;
}

std::string escaped(std::string_view text, bool keep_space) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = 1;
    if (static_cast<uint8_t>(text[0]) < 0x80) {
      add_ascii(out, text[0], keep_space);
    } else if (const size_t found = length_of_character(text); found > 0) {
      out += text.substr(0, found);
      length = found;
    } else {
      out += kReplacement;
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  return escaped(text, false);
}

std::string xml_content(std::string_view text) {
  return escaped(text, true);
}

}  // namespace rankwire
