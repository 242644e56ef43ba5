// Traces that a verb makes: all of them, or none.
#pragma once

#include <string>
#include <vector>

namespace rankwire {

/// Removes its files again, unless they are kept.
class NewSet {
 public:
  NewSet() = default;
  ~NewSet();
  NewSet(const NewSet&) = delete;
  NewSet& operator=(const NewSet&) = delete;

  /// A file that is going to be written, in a folder that is made if need be. Throws Error(kInput) when it exists.
  const std::string& add(std::string path);
  void keep() { files_.clear(); }

 private:
  std::vector<std::string> files_;
};

}  // namespace rankwire
