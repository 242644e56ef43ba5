#include "emulator/assembly/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuite = "a suite of tests";

constexpr auto kRecordFiles =
    std::to_array<std::string_view>({"run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"});

constexpr auto kDrawnFiles = std::to_array<std::string_view>(
    {"summary.json",   "operations.csv",     "flows.csv",         "ranks.csv",       "ports.csv",
     "latency.csv",    "losses.csv",         "critical_path.csv", "slack.csv",       "slow_operations.csv",
     "traffic.csv",    "stalls.json",        "hardware.csv",      "impairments.csv", "queues.csv",
     "jobs.csv",       "shared.csv",         "shared_ports.csv",  "background.csv",  "timeline.json",
     "report.html",    "report.md",          "requests.csv",      "collective.csv",  "port_rates.csv",
     "allowances.csv", "device_counters.csv"});

constexpr const char* kCasesFolder = "cases";
constexpr std::array kSuiteLeavings = {"suite.json", "suite.md", "suite.html", "junit.xml"};

/// What an earlier run, sweep, study or interference matrix left in a folder; empty: nothing.
std::string found_in(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "run.sqlite", error)) return "a run";
  if (fs::exists(folder / "sweep.json", error)) return "a sweep";
  if (fs::exists(folder / "study.json", error)) return "a study";
  if (fs::exists(folder / "suite.json", error)) return kSuite;
  if (fs::exists(folder / "interference.json", error)) return "an interference matrix";
  // One that was killed has neither, but its points.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("point-") && fs::exists(entry.path() / "run.sqlite", error))
      return "runs of a sweep, study or interference matrix";
  }
  return {};
}

/// capture.pcapng, capture-twin.pcapng, and those of repetitions, capture-2.pcapng and so on.
bool is_capture(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name == "capture.pcapng" || name == "capture-.pcapng" || name == "capture-twin.pcapng";
}

void remove_captures(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> captures;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (is_capture(entry.path().filename().string())) captures.push_back(entry.path());
  for (const fs::path& capture : captures) fs::remove(capture, error);
}

fs::path numbered(const fs::path& folder, uint32_t number) {
  return number == 1 ? folder : fs::path(fmt::format("{}-{}", folder.string(), number));
}

}  // namespace

RunFolder::RunFolder(const FolderChoice& choice) {
  if (!choice.out.empty()) {
    path_ = choice.out;
    is_named_ = true;
    if (!make())
      fail_input("{}: another rankwire is writing into this run folder; choose another one with --out", path_.string());
    if (const std::string found = choice.overwrite ? "" : found_in(path_); !found.empty()) {
      forget();
      fail_input("{}: this folder holds {}; choose another one with --out, or overwrite it with --force{}",
                 path_.string(), found, found == kSuite ? ", or go on with it with --resume" : "");
    }
    return;
  }
  for (uint32_t number = 1;; ++number) {
    path_ = numbered(choice.standard, number);
    if (make()) {
      if (choice.overwrite || found_in(path_).empty()) break;
      forget();
    }
  }
  if (path_ != choice.standard)
    log_warning(fmt::format("{} is taken; this goes to {}", choice.standard.string(), path_.string()));
}

/// Makes and locks `path_`; false where another process has locked it.
bool RunFolder::make() {
  std::error_code error;
  for (fs::path part = path_; !part.empty() && !fs::exists(part, error); part = part.parent_path()) {
    if (part.has_filename()) made_.push_back(part);
  }
  fs::create_directories(path_, error);
  if (error) fail("cannot be made", error);
  if (access(path_.c_str(), W_OK | X_OK) != 0) fail("cannot be written into", {errno, std::generic_category()});
  had_traces_ = fs::exists(path_ / "traces", error);
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return true;  // a folder that may be written but not read
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
  made_.clear();  // another's
  forget();
  return false;
}

/// Whoever named the folder is to name another.
void RunFolder::fail(const char* what, const std::error_code& why) {
  forget();
  if (is_named_) fail_input("--out {}: this folder {}: {}", path_.string(), what, why.message());
  fail_run("{}: the run folder {}: {}; --out names another", path_.string(), what, why.message());
}

/// Takes back what `make` did, where there is nothing in it.
void RunFolder::forget() {
  std::error_code error;
  for (const fs::path& folder : made_) {
    if (!fs::is_empty(folder, error) || error) break;
    fs::remove(folder, error);
  }
  made_.clear();
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

void RunFolder::clear() {
  for (const std::string_view file : kDrawnFiles) {
    std::error_code error;
    fs::remove(path_ / file, error);
    if (error) fail_run("{}: is of an earlier run and cannot be removed: {}", (path_ / file).string(), error.message());
  }
  std::error_code ignored;
  remove_captures(path_, ignored);
  cleared_ = true;
}

void RunFolder::clear_all(std::span<const std::string> cases) {
  clear();
  const auto remove = [](const fs::path& left) {
    std::error_code error;
    fs::remove_all(left, error);
    if (error) fail_run("{}: was left there before and cannot be removed: {}", left.string(), error.message());
  };
  for (const std::string_view file : kRecordFiles) remove(path_ / file);
  for (const char* const left : kSuiteLeavings) remove(path_ / left);
  for (const std::string& id : cases) remove(path_ / kCasesFolder / id);
  // What others have put there stays, and the folder with it.
  std::error_code others;
  fs::remove(path_ / kCasesFolder, others);
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (kept_) made_.clear();
  if (!kept_ && cleared_) {
    for (const std::string_view file : kRecordFiles) fs::remove(path_ / file, error);
    remove_captures(path_, error);
  }
  if (!kept_ && !had_traces_) fs::remove_all(path_ / "traces", error);
  forget();
}

bool is_run_file(const fs::path& file) {
  if (file.has_parent_path()) return *file.begin() == "traces" || *file.begin() == kPartsFolder;
  const std::string name = file.string();
  return std::ranges::find(kRecordFiles, name) != kRecordFiles.end() ||
         std::ranges::find(kDrawnFiles, name) != kDrawnFiles.end() || is_capture(name);
}

}  // namespace rankwire
