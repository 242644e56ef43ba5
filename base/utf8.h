// Texts in UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace rankwire {

/// Bytes of the character that `text`, which is not empty, begins with: 1 .. 4; 0 where it is none.
size_t utf8_length(std::string_view text) noexcept;

/// Whether it is characters and nothing else.
bool is_utf8(std::string_view text) noexcept;

}  // namespace rankwire
