#include "emulator/suite/xml_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"

namespace rankwire {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Two of UTF-8's characters are none of XML's: U+FFFE and U+FFFF.
bool is_of_xml(std::string_view character) {
  return character != "\xEF\xBF\xBE" && character != "\xEF\xBF\xBF";
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
    } else if (const size_t found = utf8_length(text); found > 0 && is_of_xml(text.substr(0, found))) {
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
