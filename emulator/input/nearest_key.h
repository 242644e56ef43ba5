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

/// The one of `known` that `name` was probably meant to be, or "". The first `common` characters are those of all
/// names and do not count.
std::string nearest_name(std::string_view name, std::span<const std::string> known, size_t common = 0);

/// Fails for `key`, found under `prefix` ("switch." or "") where only `known` may stand: names the nearest known key,
/// or all of them when none is near.
[[noreturn]] void fail_unknown_key(const Origin& origin, std::string_view prefix, std::string_view key,
                                   std::span<const std::string_view> known);

}  // namespace rankwire
