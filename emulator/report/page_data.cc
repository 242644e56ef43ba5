#include "emulator/report/page_data.h"

#include <utility>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

std::string ascii(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

void append_vlq(std::string& text, int64_t number) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint64_t rest = number < 0 ? (0 - static_cast<uint64_t>(number)) << 1 | 1 : static_cast<uint64_t>(number) << 1;
  do {
    const uint64_t digit = rest & 31;
    rest >>= 5;
    text += kDigits[rest == 0 ? digit : digit | 32];
  } while (rest != 0);
}

}  // namespace

std::string_view cut_text(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

std::string shortened_text(std::string_view text, size_t limit) {
  const std::string_view part = cut_text(text, limit);
  return part.size() == text.size() ? std::string(part) : std::string(part) + "\u2026";
}

std::string vlq_differences(const std::vector<int64_t>& numbers) {
  std::string text;
  int64_t before = 0;
  for (const int64_t number : numbers) append_vlq(text, number - std::exchange(before, number));
  return text;
}

// '<' begins tags and comments also in a script; in JSON it stands in texts alone.
std::string json_in_script(const nlohmann::ordered_json& json) {
  const std::string text = ascii(json);
  std::string escaped;
  escaped.reserve(text.size() + 16);
  for (const char c : text) {
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  }
  return escaped;
}

std::string json_in_attribute(const nlohmann::ordered_json& json) {
  return html_escaped(ascii(json));
}

}  // namespace rankwire
