// Traces that a verb makes: all of them, or none.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/new_folder.h"

namespace rankwire {

/// Removes its files again, unless they are kept, and folders that were made for them.
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
  std::list<NewFolder> folders_;
  std::vector<std::string> files_;
};

}  // namespace rankwire
