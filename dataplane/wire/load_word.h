// Words from the bytes of a frame.
#pragma once

#include <cstring>

namespace rankwire {

/// The bytes at `place`, at any address, as they stand in memory: on this host the first is the lowest.
template <class Word>
inline Word load_word(const void* place) noexcept {
  Word word;
  std::memcpy(&word, place, sizeof word);
  return word;
}

}  // namespace rankwire
