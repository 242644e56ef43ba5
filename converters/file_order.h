// The order of files that have numbers in their names.
#pragma once

#include <string_view>

namespace rankwire {

/// As `sort -V`: numbers compare by value, so host_2 comes before host_10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace rankwire
