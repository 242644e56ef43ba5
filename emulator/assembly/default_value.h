// Values for keys that a configuration leaves out.
#pragma once

#include <optional>

namespace rankwire {

/// Gives an absent key `value`.
template <class T, class Value>
void fill(std::optional<T>& key, Value value) {
  if (!key) key = static_cast<T>(value);
}

}  // namespace rankwire
