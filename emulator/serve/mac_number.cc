#include "emulator/serve/mac_number.h"

#include <charconv>

namespace rankwire {

std::optional<uint64_t> mac_number(std::string_view text) {
  if (text.size() != 17) return std::nullopt;
  uint64_t number = 0;
  for (size_t i = 0; i < text.size(); i += 3) {
    if (i > 0 && text[i - 1] != ':') return std::nullopt;
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2) return std::nullopt;
    number = number << 8 | byte;
  }
  return number;
}

}  // namespace rankwire
