// Which file is which rank's trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// The parts of a name such as "w.12.et".
struct NumberedName {
  std::string base;
  uint32_t rank = 0;
};

/// Of the name of a file (without its folder) that ends in .et, .eg or .json, perhaps with .gz or .zst behind it, and
/// has a rank without leading zeros in front of that.
std::optional<NumberedName> numbered_name(std::string_view file);

/// The files by rank. Several names are the ranks' files in order; one name is a file if there is one of that name, and
/// otherwise a prefix P that stands for P.<rank>.et, or .eg or .json, each also with .gz or .zst behind it; ranks are
/// 0, 1, ... without a gap. (What a file holds is told by its content.) Throws Error(kInput) when a file is missing, or
/// a rank has several.
std::vector<std::string> find_trace_files(const std::vector<std::string>& traces);

}  // namespace rankwire
