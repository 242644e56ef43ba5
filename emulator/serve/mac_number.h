// MAC addresses as numbers, which follow each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rankwire {

/// Of "02:52:57:00:00:01", its 48 bits; absent for anything else.
std::optional<uint64_t> mac_number(std::string_view text);

}  // namespace rankwire
