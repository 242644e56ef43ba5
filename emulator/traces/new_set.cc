#include "emulator/traces/new_set.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace rankwire {

namespace fs = std::filesystem;

NewSet::~NewSet() {
  std::error_code ignored;
  for (const std::string& file : files_) fs::remove(file, ignored);
}

const std::string& NewSet::add(std::string path) {
  if (fs::exists(path)) fail_input("{}: exists already and is not overwritten", path);
  std::error_code ignored;  // what cannot be made says who writes
  fs::create_directories(fs::path(path).parent_path(), ignored);
  return files_.emplace_back(std::move(path));
}

}  // namespace rankwire
