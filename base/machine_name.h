// What machines of a run over several may be called, in a configuration and on a command line.
#pragma once

#include <algorithm>
#include <string_view>

namespace rankwire {

/// For errors.
inline constexpr const char* kMachineNameRule =
    "letters, digits, '.', '-' and '_', of which the first is a letter or a digit, 128 at most";

/// Host names are such; a folder of the record is called so.
constexpr bool is_machine_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 128 && is_plain(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_plain(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace rankwire
