// What a server keeps on disk: files of clients by their SHA-256, and a folder a run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/serve/otg_config.h"

namespace rankwire {

struct StoreLimits {
  uint64_t quota = 10'000'000'000;  ///< bytes of all that is kept
  size_t keep = 100;                ///< runs; the oldest go first
};

/// ROOT/files/SHA256 and ROOT/runs/ID, whose names it makes itself; no name that a client gives becomes a path before
/// it was compared with what there is or has passed `is_file_name`. Used by one process at a time. Thread-safe.
class KeptRuns {
 public:
  /// Makes the folders, and knows what is there from before. Throws Error(kInput) when the root cannot be had, or
  /// another server uses it.
  KeptRuns(std::filesystem::path root, StoreLimits limits);
  ~KeptRuns();
  KeptRuns(const KeptRuns&) = delete;
  KeptRuns& operator=(const KeptRuns&) = delete;

  /// What a client sends, piece by piece; false from `sink` ends the reading.
  using Body = std::function<bool(const std::function<bool(std::string_view piece)>& sink)>;
  /// Keeps what `body` gives, if its digest is `sha256`. Whether it is new. `announced`: its bytes, 0 if they are not
  /// known, for which room is made first. Throws ServeError: 400 for another digest, 507 when there is no room for it.
  bool keep_file(const std::string& sha256, const Body& body, uint64_t announced = 0);
  struct KeptFile {
    std::string sha256;
    uint64_t bytes = 0;
    size_t runs = 0;  ///< that have it
  };
  /// By digest.
  std::vector<KeptFile> files() const;
  /// Throws ServeError: 404 unless it is there, 409 while a run has it.
  void remove_file(const std::string& sha256);

  /// A new folder with the configuration and the files, as "configuration.yaml" and by their names, of a run that goes
  /// on until `has_ended`. Makes room first where the quota or the number of runs asks for it. Returns its id. Throws
  /// ServeError: 400 for a file that was not uploaded, 507 without room. `room`: bytes that there is to be for it and
  /// what it writes; it takes what the configuration needs at least.
  std::string new_run(const std::string& configuration, const std::vector<OtgFile>& files, uint64_t room = 0);
  /// The most `room` that a run could have now, when all goes that may.
  uint64_t most_room() const;
  /// The run may go when room is needed.
  void has_ended(const std::string& id);
  /// The same as `new_run` as a folder that is no run, in place of the one before: to be looked at alone, until
  /// `end_trial`.
  std::filesystem::path new_trial(const std::string& configuration, const std::vector<OtgFile>& files);
  void end_trial();
  void remove_run(const std::string& id);
  /// Ids, oldest first.
  std::vector<std::string> runs() const;
  /// Of a run that there is. Throws ServeError 404.
  std::filesystem::path folder(const std::string& id) const;

  /// The same, whether there is one or not: of an id of `new_run`.
  std::filesystem::path folder_of(const std::string& id) const { return root_ / "runs" / id; }

  /// What a run writes to its standard output and error; there need not be such a run.
  std::filesystem::path log(const std::string& id) const;

  /// What a client may read of a run: names of regular files of its results and its log.
  std::vector<std::string> artefacts(const std::string& id) const;
  /// Throws ServeError 404 unless it is one of `artefacts`.
  std::filesystem::path artefact(const std::string& id, const std::string& name) const;

  /// Bytes of the folder of a run.
  uint64_t size(const std::string& id) const;
  const StoreLimits& limits() const { return limits_; }

 private:
  uint64_t used() const;
  /// Why there cannot be a run with these files: 400.
  void check_files(const std::vector<OtgFile>& files) const;
  void fill(const std::filesystem::path& folder, const std::string& configuration,
            const std::vector<OtgFile>& files) const;
  struct Clearing {
    std::vector<std::filesystem::path> going;
    uint64_t taken = 0;  ///< bytes that are kept without them
  };
  /// What goes for so many bytes, and for a run more where `of_run`: files that no run has, the oldest first, then runs
  /// that have ended, the oldest first, with files that only they had. Files that are awaited stay. The lock is held.
  Clearing clearing(uint64_t bytes, bool of_run) const;
  /// That goes. Nothing does where it is not enough: throws ServeError 507. The lock is held.
  void make_room(uint64_t bytes, bool of_run);
  /// Room that an upload may take, and has not yet: at least `least` bytes, if possible `wanted`.
  uint64_t grant(uint64_t least, uint64_t wanted);
  /// Whether it came for a run that is about to come. The lock is held.
  bool is_awaited(const std::string& sha256) const;

  using Clock = std::chrono::steady_clock;
  const std::filesystem::path root_;
  const StoreLimits limits_;
  int lock_ = -1;
  mutable std::mutex mutex_;
  uint64_t next_ = 1;
  std::set<std::string> active_;                      // runs
  std::map<std::string, Clock::time_point> awaited_;  // files of which no run was made since they came, or were checked
  std::atomic<uint64_t> granted_{0};                  // bytes that uploads may write, beside what they have written
};

}  // namespace rankwire
