// Slices of InfraGraph: "port", "port[3]", "port[0:4]", "port[0:8:2]", "port[:]".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

struct InfraSlice {
  std::string name;
  uint32_t first = 0, end = 0, step = 1;  ///< end is behind the last
};

/// `text` without dots, of something that there is `count` times: all of them without brackets. Throws Error(kInput),
/// without the place, for what is no slice or goes beyond the count. Python's negative numbers are none.
InfraSlice parse_slice(std::string_view text, uint32_t count);

/// What stands before the brackets.
std::string_view sliced_name(std::string_view text);

}  // namespace rankwire
