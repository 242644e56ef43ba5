// Folders that are made for files which may never come.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace rankwire {

/// A folder that is made where it is not there, with those above it. Whoever made them takes them away again, unless
/// something is in them.
class NewFolder {
 public:
  /// "" is the current folder.
  explicit NewFolder(std::filesystem::path folder);
  /// Removes what it has made and is empty.
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Why there is no such folder.
  const std::error_code& error() const { return error_; }
  /// Throws Error(kRun) unless there is the folder.
  void check() const;

 private:
  std::filesystem::path path_;
  std::error_code error_;
  std::vector<std::filesystem::path> missing_;  ///< before, the innermost first
};

}  // namespace rankwire
