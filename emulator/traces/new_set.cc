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
  while (!folders_.empty()) folders_.pop_back();  // inner ones were made after outer ones
}

const std::string& NewSet::add(std::string path) {
  if (fs::exists(path)) fail_input("{}: exists already and is not overwritten", path);
  const fs::path folder = fs::path(path).parent_path();
  // What cannot be made says who writes.
  if (folders_.empty() || folders_.back().path() != folder) folders_.emplace_back(folder);
  return files_.emplace_back(std::move(path));
}

}  // namespace rankwire
