#include "emulator/serve/kept_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "emulator/serve/client_names.h"
#include "emulator/serve/digest.h"
#include "emulator/serve/end_of_run.h"
#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

/// How long a file waits for its run, whatever else needs its room.
constexpr std::chrono::minutes kAwaited{10};

/// A new file, which goes unless it is moved away.
struct Upload {
  explicit Upload(std::string pattern) : path(std::move(pattern)), descriptor(::mkostemp(path.data(), O_CLOEXEC)) {
    if (descriptor < 0) throw ServeError(507, fmt::format("cannot write: {}", std::strerror(errno)));
  }
  ~Upload() {
    ::close(descriptor);
    ::unlink(path.c_str());
  }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  std::string path;
  const int descriptor;
};

/// Writes it all; 0, or the errno of what went wrong.
int write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

/// "r000012".
std::string id_of(uint64_t number) {
  return fmt::format("r{:06}", number);
}

bool is_id(const std::string& id) {
  return id.size() >= 7 && id.size() <= 20 && id[0] == 'r' &&
         id.find_first_not_of("0123456789", 1) == std::string::npos;
}

/// Of regular files. A file that was uploaded, and that runs have, too, counts once, where it was uploaded.
uint64_t bytes_below(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (entry->symlink_status(gone).type() != fs::file_type::regular) continue;
    const bool is_upload = entry->path().parent_path().filename() == "files";
    const uintmax_t size = entry->file_size(gone);
    if (!gone && (is_upload || entry->hard_link_count(gone) == 1)) bytes += size;
  }
  return bytes;
}

}  // namespace

KeptRuns::KeptRuns(fs::path root, StoreLimits limits) : root_(std::move(root)), limits_(limits) {
  std::error_code error;
  for (const char* part : {"files", "runs"}) {
    fs::create_directories(root_ / part, error);
    if (error) fail_input("--root: {}: {}", (root_ / part).string(), error.message());
  }
  fs::permissions(root_, fs::perms::owner_all, error);
  lock_ = ::open((root_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock_ < 0) fail_input("--root: {}: {}", root_.string(), std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    fail_input("--root: {}: another server uses it", root_.string());
  }
  fs::remove_all(root_ / "trial", error);  // of a server that was killed
  for (const std::string& id : runs()) next_ = std::max<uint64_t>(next_, std::stoull(id.substr(1)) + 1);
}

KeptRuns::~KeptRuns() {
  ::close(lock_);
}

bool KeptRuns::keep_file(const std::string& sha256, const Body& body, uint64_t announced) {
  if (!is_digest(sha256)) throw ServeError(400, "the name of a file is its SHA-256 in 64 small hexadecimal digits");
  const fs::path kept = root_ / "files" / sha256;
  const bool is_known = fs::exists(kept);
  uint64_t room = 0;  // what is known is compared alone, and needs none
  const auto wants = [&](uint64_t bytes) { return std::max(bytes, limits_.quota / 64); };
  if (!is_known && announced > 0) room = grant(announced, announced);
  std::optional<Upload> upload;
  if (!is_known) upload.emplace((root_ / "files" / ".upload-XXXXXX").string());
  Sha256 digest;
  int failure = 0;  // of the write; others come before anybody asks
  const auto write = [&](std::string_view piece) {
    digest.add(piece);
    if (is_known) return true;
    if (piece.size() > room) room += grant(piece.size() - room, wants(piece.size() - room));
    failure = write_whole(upload->descriptor, piece);
    room -= piece.size(), granted_ -= piece.size();
    return failure == 0;
  };
  bool whole = false;
  try {
    whole = body(write);
  } catch (...) {
    granted_ -= room;
    throw;
  }
  granted_ -= room;
  if (failure != 0) throw ServeError(507, fmt::format("the file cannot be written: {}", std::strerror(failure)));
  if (!whole) throw ServeError(400, "the file did not come whole");
  if (const std::string found = digest.digits(); found != sha256)
    throw ServeError(400, fmt::format("what came has the SHA-256 {}, not {}", found, sha256));
  const std::lock_guard lock(mutex_);
  awaited_[sha256] = Clock::now();
  if (is_known && fs::exists(kept)) return false;
  if (is_known) throw ServeError(503, "the file went while it was compared, to make room: send it again");
  fs::rename(upload->path, kept);
  return true;
}

uint64_t KeptRuns::grant(uint64_t least, uint64_t wanted) {
  const std::lock_guard lock(mutex_);
  try {
    make_room(granted_ + wanted, false);
  } catch (const ServeError&) {
    if (least == wanted) throw;
    make_room(granted_ + least, false);
    wanted = least;
  }
  granted_ += wanted;
  return wanted;
}

std::vector<KeptRuns::KeptFile> KeptRuns::files() const {
  std::vector<KeptFile> all;
  const std::lock_guard lock(mutex_);
  for (const fs::directory_entry& file : fs::directory_iterator(root_ / "files"))
    if (const std::string name = file.path().filename().string(); is_digest(name))
      all.push_back({name, file.file_size(), static_cast<size_t>(file.hard_link_count() - 1)});
  std::sort(all.begin(), all.end(), [](const KeptFile& a, const KeptFile& b) { return a.sha256 < b.sha256; });
  return all;
}

void KeptRuns::remove_file(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  const fs::path file = root_ / "files" / sha256;
  if (!is_digest(sha256) || !fs::exists(file)) throw ServeError(404, fmt::format("there is no file '{}'", sha256));
  if (fs::hard_link_count(file) > 1) throw ServeError(409, fmt::format("a run has the file '{}'", sha256));
  fs::remove(file);
}

std::string KeptRuns::new_run(const std::string& configuration, const std::vector<OtgFile>& files, uint64_t room) {
  const std::lock_guard lock(mutex_);
  check_files(files);
  for (const OtgFile& file : files) awaited_[file.sha256] = Clock::now();  // none of them makes room
  make_room(std::max<uint64_t>(configuration.size() + 1, room), true);
  const std::string id = id_of(next_++);
  try {
    fill(root_ / "runs" / id, configuration, files);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(root_ / "runs" / id, ignored);
    throw;
  }
  for (const OtgFile& file : files) awaited_.erase(file.sha256);
  active_.insert(id);
  return id;
}

void KeptRuns::has_ended(const std::string& id) {
  const std::lock_guard lock(mutex_);
  active_.erase(id);
}

fs::path KeptRuns::new_trial(const std::string& configuration, const std::vector<OtgFile>& files) {
  const std::lock_guard lock(mutex_);
  check_files(files);
  for (const OtgFile& file : files) awaited_[file.sha256] = Clock::now();
  const fs::path folder = root_ / "trial";
  fs::remove_all(folder);
  fill(folder, configuration, files);
  return folder;
}

void KeptRuns::end_trial() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  fs::remove_all(root_ / "trial", ignored);
}

void KeptRuns::check_files(const std::vector<OtgFile>& files) const {
  std::vector<std::string> errors;
  for (const OtgFile& file : files) {
    if (!fs::exists(root_ / "files" / file.sha256))
      errors.push_back(fmt::format("ai_workload.files: '{}' ({}) was not uploaded", file.name, file.sha256));
    if (file.name == "configuration.yaml" || file.name == "log.txt" || file.name == "out" || file.name == kEndOfRunFile)
      errors.push_back(fmt::format("ai_workload.files: '{}' is a name of the server's own", file.name));
  }
  if (!errors.empty()) throw ServeError(400, errors);
}

void KeptRuns::fill(const fs::path& folder, const std::string& configuration, const std::vector<OtgFile>& files) const {
  fs::create_directory(folder);
  if (std::ofstream file(folder / "configuration.yaml"); !(file << configuration).flush())
    throw ServeError(507, fmt::format("cannot write: {}", std::strerror(errno)));
  for (const OtgFile& file : files) fs::create_hard_link(root_ / "files" / file.sha256, folder / file.name);
}

bool KeptRuns::is_awaited(const std::string& sha256) const {
  const auto found = awaited_.find(sha256);
  return found != awaited_.end() && Clock::now() - found->second < kAwaited;
}

uint64_t KeptRuns::most_room() const {
  const std::lock_guard lock(mutex_);
  const uint64_t taken = clearing(limits_.quota, true).taken + granted_;
  return limits_.quota - std::min(limits_.quota, taken);
}

KeptRuns::Clearing KeptRuns::clearing(uint64_t bytes, bool of_run) const {
  const std::vector<std::string> known = runs();
  size_t too_many = of_run && known.size() >= limits_.keep ? known.size() - limits_.keep + 1 : 0;
  Clearing clearing{.going = {}, .taken = used()};
  const auto is_short = [&] { return clearing.taken > limits_.quota || limits_.quota - clearing.taken < bytes; };
  if (too_many == 0 && !is_short()) return clearing;
  const auto go = [&](const fs::path& path, uint64_t size) {
    clearing.going.push_back(path);
    clearing.taken -= std::min(clearing.taken, size);
  };
  // Files that may go, by inode, and how many links each has left.
  std::map<ino_t, std::pair<fs::path, struct ::stat>> files;
  std::vector<const std::pair<fs::path, struct ::stat>*> unused;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_ / "files")) {
    struct ::stat file {};
    const std::string name = entry.path().filename().string();
    if (!is_digest(name) || is_awaited(name) || ::stat(entry.path().c_str(), &file) != 0) continue;
    const auto& kept = files[file.st_ino] = {entry.path(), file};
    if (file.st_nlink == 1) unused.push_back(&kept);
  }
  std::sort(unused.begin(), unused.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.st_mtim.tv_sec, a->second.st_mtim.tv_nsec) <
           std::pair(b->second.st_mtim.tv_sec, b->second.st_mtim.tv_nsec);
  });
  for (const auto* file : unused)
    if (is_short()) go(file->first, static_cast<uint64_t>(file->second.st_size));
  for (const std::string& id : known) {
    if (too_many == 0 && !is_short()) break;
    if (active_.contains(id)) continue;
    too_many -= std::min<size_t>(too_many, 1);
    go(root_ / "runs" / id, size(id));
    std::error_code gone;
    for (const fs::directory_entry& entry : fs::directory_iterator(root_ / "runs" / id, gone)) {
      struct ::stat link {};
      if (::lstat(entry.path().c_str(), &link) != 0) continue;
      const auto file = files.find(link.st_ino);
      if (file == files.end() || --file->second.second.st_nlink > 1 || !is_short()) continue;
      go(file->second.first, static_cast<uint64_t>(file->second.second.st_size));
    }
  }
  return clearing;
}

void KeptRuns::make_room(uint64_t bytes, bool of_run) {
  const Clearing room = clearing(bytes, of_run);
  if (room.taken > limits_.quota || limits_.quota - room.taken < bytes)
    throw ServeError(507, fmt::format("there is no room (--quota): of {} bytes {} are kept, and what goes on or was "
                                      "uploaded for a run that is to come has too many of them for {} more",
                                      limits_.quota, used(), bytes));
  for (const fs::path& path : room.going) fs::remove_all(path);
}

void KeptRuns::remove_run(const std::string& id) {
  const fs::path path = folder(id);
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::vector<std::string> KeptRuns::runs() const {
  std::vector<std::string> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_ / "runs"))
    if (std::error_code gone; is_id(entry.path().filename().string()) && entry.is_directory(gone))
      all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end(),
            [](const std::string& a, const std::string& b) { return std::pair(a.size(), a) < std::pair(b.size(), b); });
  return all;
}

fs::path KeptRuns::folder(const std::string& id) const {
  if (!is_id(id) || !fs::is_directory(root_ / "runs" / id))
    throw ServeError(404, fmt::format("there is no run '{}'", id));
  return root_ / "runs" / id;
}

fs::path KeptRuns::log(const std::string& id) const {
  return root_ / "runs" / id / "log.txt";
}

std::vector<std::string> KeptRuns::artefacts(const std::string& id) const {
  const fs::path of_run = folder(id);
  std::vector<std::string> all;
  for (const char* own : {"configuration.yaml", "log.txt"})
    if (fs::is_regular_file(fs::symlink_status(of_run / own))) all.emplace_back(own);
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(of_run / "out", absent))
    if (entry.symlink_status().type() == fs::file_type::regular) all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

fs::path KeptRuns::artefact(const std::string& id, const std::string& name) const {
  const std::vector<std::string> known = artefacts(id);
  if (!std::binary_search(known.begin(), known.end(), name))
    throw ServeError(404, fmt::format("run {} has no file '{}'", id, name));
  const bool is_own = name == "configuration.yaml" || name == "log.txt";
  return is_own ? folder(id) / name : folder(id) / "out" / name;
}

uint64_t KeptRuns::size(const std::string& id) const {
  return bytes_below(root_ / "runs" / id);
}

uint64_t KeptRuns::used() const {
  return bytes_below(root_);
}

}  // namespace rankwire
