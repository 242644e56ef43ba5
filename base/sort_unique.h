// Vectors as sets.
#pragma once

#include <algorithm>
#include <vector>

namespace rankwire {

/// Sorts the values and leaves one of those that are equal. (Without std::ranges::unique, whose result clang 14 cannot
/// compile with libstdc++ 12.)
template <class Value>
void sort_unique(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace rankwire
