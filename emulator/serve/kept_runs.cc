#include "emulator/serve/kept_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "emulator/serve/client_names.h"
#include "emulator/serve/digest.h"
#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

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
  for (const std::string& id : runs()) next_ = std::max<uint64_t>(next_, std::stoull(id.substr(1)) + 1);
}

KeptRuns::~KeptRuns() {
  ::close(lock_);
}

bool KeptRuns::keep_file(const std::string& sha256, const Body& body) {
  if (!is_digest(sha256)) throw ServeError(400, "the name of a file is its SHA-256 in 64 small hexadecimal digits");
  const fs::path kept = root_ / "files" / sha256;
  const bool is_known = fs::exists(kept);
  uint64_t free = 0;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t taken = used();
    free = taken < limits_.quota ? limits_.quota - taken : 0;
  }
  std::optional<Upload> upload;  // what is known is compared alone, and needs no room
  if (!is_known) upload.emplace((root_ / "files" / ".upload-XXXXXX").string());
  Sha256 digest;
  bool has_room = true;
  const bool whole = body([&](std::string_view piece) {
    digest.add(piece);
    if (is_known) return true;
    has_room = piece.size() <= free &&
               ::write(upload->descriptor, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size());
    free -= std::min<uint64_t>(free, piece.size());
    return has_room;
  });
  if (!has_room) throw ServeError(507, "there is no room for the file (--quota)");
  if (!whole) throw ServeError(400, "the file did not come whole");
  if (const std::string found = digest.digits(); found != sha256)
    throw ServeError(400, fmt::format("what came has the SHA-256 {}, not {}", found, sha256));
  if (!is_known) fs::rename(upload->path, kept);
  return !is_known;
}

std::string KeptRuns::new_run(const std::string& configuration, const std::vector<OtgFile>& files,
                              const std::vector<std::string>& active) {
  const std::lock_guard lock(mutex_);
  check_files(files);
  make_room(active);
  const std::string id = id_of(next_++);
  fill(root_ / "runs" / id, configuration, files);
  return id;
}

fs::path KeptRuns::new_trial(const std::string& configuration, const std::vector<OtgFile>& files) {
  const std::lock_guard lock(mutex_);
  check_files(files);
  const fs::path folder = root_ / "trial";
  fs::remove_all(folder);
  fill(folder, configuration, files);
  return folder;
}

void KeptRuns::check_files(const std::vector<OtgFile>& files) const {
  std::vector<std::string> errors;
  for (const OtgFile& file : files) {
    if (!fs::exists(root_ / "files" / file.sha256))
      errors.push_back(fmt::format("ai_workload.files: '{}' ({}) was not uploaded", file.name, file.sha256));
    if (file.name == "configuration.yaml" || file.name == "log.txt" || file.name == "out")
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

void KeptRuns::make_room(const std::vector<std::string>& active) {
  std::vector<std::string> known = runs();
  while (!known.empty() && (known.size() >= limits_.keep || used() >= limits_.quota)) {
    const auto oldest = std::find_if(known.begin(), known.end(), [&](const std::string& id) {
      return std::find(active.begin(), active.end(), id) == active.end();
    });
    if (oldest == known.end()) break;
    fs::remove_all(root_ / "runs" / *oldest);
    known.erase(oldest);
  }
  if (used() < limits_.quota) return;
  // Files that no run has any more: one link is left.
  for (const fs::directory_entry& file : fs::directory_iterator(root_ / "files"))
    if (file.hard_link_count() == 1) fs::remove(file.path());
  if (used() >= limits_.quota) throw ServeError(507, "what is kept fills the quota (--quota)");
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
