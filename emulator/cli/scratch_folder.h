// A folder for files of a moment.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace rankwire {

/// Below the folder for temporary files; goes away with everything in it. Throws Error(kRun) when it cannot be made.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) fail_run("there is no folder for temporary files: {}; TMPDIR may name one", error.message());
    std::string name = (parent / "rankwire-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail_run("cannot make a folder {}: {}", name, std::strerror(errno));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rankwire
