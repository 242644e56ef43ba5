// Files for tests to read.
#pragma once

#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace rankwire::testing {

/// Writes a file, whose name does not tell what is in it; returns its path. One at a time in a folder.
inline std::string put(const TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder / "file";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace rankwire::testing
