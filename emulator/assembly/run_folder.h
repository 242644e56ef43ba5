// The folder that a run writes into.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace rankwire {

/// Where machines' parts of the record are, in the folder of the run.
constexpr const char* kPartsFolder = "machines";

/// Which folder a run is to have.
struct FolderChoice {
  std::filesystem::path out;       ///< as the user named it; empty: `standard`
  std::filesystem::path standard;  ///< numbered (NAME-2, NAME-3, ...) where it is taken
  bool overwrite = false;          ///< also a folder that holds a run
};

/// Makes the folder and keeps other rankwire processes from writing into it until it is destroyed or the process ends,
/// however it ends. Readers are not kept out. Where the file system has no locks there is no such protection.
///
/// Unless it is told that the run has begun, it leaves nothing behind of a run that never did: no folder that was not
/// there before, no record, no generated traces. What it did not clear stays.
class RunFolder {
 public:
  /// Throws Error(kInput) when the named folder cannot be made or written into, holds a run, a sweep or a study, or
  /// another process writes into it; Error(kRun) when no standard one can be had. Warns when it takes a numbered one.
  explicit RunFolder(const FolderChoice& choice);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Removes what an earlier run left, which would not be this run's. Throws Error(kRun) where that cannot be removed.
  void clear();
  /// The same with its record, and what a suite of tests left, of whose cases these are the folders: of what is to be
  /// no run.
  void clear_all(std::span<const std::string> cases);
  /// The run has begun: what is in the folder stays.
  void keep() { kept_ = true; }

 private:
  bool make();
  void forget();
  [[noreturn]] void fail(const char* what, const std::error_code& why);

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  ///< folders that were not there, innermost first
  bool is_named_ = false, had_traces_ = false, cleared_ = false, kept_ = false;
  int descriptor_ = -1;
};

/// Whether a run, or the report of it, writes this file: its name, or its path below the folder of the run.
bool is_run_file(const std::filesystem::path& file);

}  // namespace rankwire
