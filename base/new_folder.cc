#include "base/new_folder.h"

#include <utility>

#include "base/error.h"

namespace rankwire {

namespace fs = std::filesystem;

NewFolder::NewFolder(fs::path folder) : path_(std::move(folder)) {
  if (path_.empty()) return;
  std::error_code ignored;
  for (fs::path path = path_; !path.empty() && !fs::exists(path, ignored); path = path.parent_path())
    missing_.push_back(path);
  fs::create_directories(path_, error_);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  for (const fs::path& path : missing_) fs::remove(path, ignored);
}

void NewFolder::check() const {
  if (error_) fail_run("{}: cannot make the folder: {}", path_.string(), error_.message());
}

}  // namespace rankwire
