#include "emulator/input/infragraph_slice.h"

#include <charconv>
#include <optional>

#include "base/error.h"

namespace rankwire {
namespace {

/// Pieces between colons; an empty one is absent. Nothing when a piece is no number.
std::optional<std::vector<std::optional<uint32_t>>> pieces_of(std::string_view text) {
  std::vector<std::optional<uint32_t>> pieces;
  for (;;) {
    const size_t colon = text.find(':');
    const std::string_view piece = text.substr(0, colon);
    pieces.emplace_back();
    if (!piece.empty()) {
      uint32_t value = 0;
      const auto [end, failure] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
      if (failure != std::errc() || end != piece.data() + piece.size()) return std::nullopt;
      pieces.back() = value;
    }
    if (colon == std::string_view::npos) return pieces;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

std::string_view sliced_name(std::string_view text) {
  return text.substr(0, text.find('['));
}

InfraSlice parse_slice(std::string_view text, uint32_t count) {
  InfraSlice slice{std::string(sliced_name(text)), 0, count, 1};
  const std::string_view brackets = text.substr(slice.name.size());
  if (brackets.empty()) return slice;
  const auto fail = [&]() { fail_input("'{}' is no slice; write for example {}[0:4]", text, slice.name); };
  if (brackets.size() < 3 || brackets.back() != ']') fail();
  const auto pieces = pieces_of(brackets.substr(1, brackets.size() - 2));
  if (!pieces || pieces->size() > 3) fail();
  slice.first = pieces->at(0).value_or(0);
  if (pieces->size() == 1) {
    slice.end = slice.first + 1;
  } else {
    slice.end = pieces->at(1).value_or(count);
    if (pieces->size() == 3) slice.step = pieces->at(2).value_or(1);
  }
  if (slice.step == 0) fail();
  if (slice.first >= slice.end || slice.end > count) {
    fail_input("'{}' is not within the {} of them, numbered from 0", text, count);
  }
  return slice;
}

}  // namespace rankwire
