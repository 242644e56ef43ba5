// Where the keys of a configuration are written, for errors that only what follows from it shows.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace rankwire {

struct Tree;

/// Of the root's keys, of those of its sections, and of the items of its lists; what is in a list further inside counts
/// as written where that list is, so that lists of every rank take no memory.
class KeyPlaces {
 public:
  KeyPlaces() = default;
  explicit KeyPlaces(const Tree& root);

  /// "FILE:LINE: KEY", the place being that of the nearest key above where this one is not written. The key alone where
  /// nothing is: in a configuration that no file describes.
  std::string of(std::string_view key) const;
  /// A text that begins with a key and ": ", as errors of rooms do that know keys and no file, with the key's place
  /// before it; another text as it is.
  std::string located(std::string_view text) const;

 private:
  void note(const Tree& node, const std::string& key, bool takes_lists);

  std::map<std::string, std::string, std::less<>> places_;
};

/// Fails with "PLACE: KEY: text".
template <class... Args>
[[noreturn]] void fail_key(const KeyPlaces& places, std::string_view key, fmt::format_string<Args...> format,
                           Args&&... args) {
  fail_input("{}: {}", places.of(key), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rankwire
