// The folder that a run writes into.
#pragma once

#include <filesystem>

namespace rankwire {

/// Makes the folder and keeps other rankwire processes from writing into it until it is destroyed or the process ends,
/// however it ends. Readers are not kept out. Where the file system has no locks there is no such protection.
class RunFolder {
 public:
  /// Throws Error(kRun) when the folder cannot be made, Error(kInput) when another process writes into it.
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace rankwire
