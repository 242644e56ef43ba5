// Which key a misspelt one was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/input/tree.h"

namespace rankwire {

/// Edit distance with transposition of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

/// Fails for `key`, found under `prefix` ("switch." or "") where only `known` may stand: names the nearest known key,
/// or all of them when none is near.
[[noreturn]] void fail_unknown_key(const Origin& origin, std::string_view prefix, std::string_view key,
                                   std::span<const std::string_view> known);

}  // namespace rankwire
