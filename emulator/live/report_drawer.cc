#include "emulator/live/report_drawer.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/child_process.h"

namespace rankwire {
namespace {

constexpr int kLowestPriority = 19, kSharesOfTime = 19;
constexpr std::chrono::milliseconds kBetweenLooks{20};

/// What the program is started with: its output in the log, no other descriptor, signals as usual, and a process group
/// of its own, so that Ctrl-C at the terminal reaches the run alone.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& log) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  /// 0, or an error number.
  int start(pid_t& process, char* const* arguments) const {
    return posix_spawnp(&process, arguments[0], &files_, &attributes_, arguments, environ);
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// Should this process be killed the other one ends by itself, too; and where memory is short it goes first.
void bound(pid_t process) {
  const rlim_t seconds = static_cast<rlim_t>(ReportDrawer::kLongest.count());
  const rlimit time{seconds, seconds}, memory{ReportDrawer::kMostMemory, ReportDrawer::kMostMemory};
  prlimit(process, RLIMIT_CPU, &time, nullptr);
  prlimit(process, RLIMIT_DATA, &memory, nullptr);
  std::ofstream("/proc/" + std::to_string(process) + "/oom_score_adj") << 1000;
}

}  // namespace

ReportDrawer::ReportDrawer(ReportDrawing drawing) : drawing_(std::move(drawing)), thread_([this] { serve(); }) {}

ReportDrawer::~ReportDrawer() {
  stop();
  thread_.join();
}

void ReportDrawer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

ReportDrawer::Drawn ReportDrawer::draw() {
  std::unique_lock lock(mutex_);
  if (drawings_ > 0 && Clock::now() < not_before_ && !asked_) return last_;
  const uint64_t seen = drawings_;
  asked_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kLongest, [&] { return drawings_ != seen || stopping_; });
  if (drawings_ == seen) return {nullptr, stopping_ ? "the run has ended" : "nothing was drawn in time"};
  return last_;
}

void ReportDrawer::serve() {
  setpriority(PRIO_PROCESS, 0, kLowestPriority);  // of this thread alone
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return asked_ || stopping_; });
    if (stopping_) return;
    lock.unlock();
    const Clock::time_point began = Clock::now();
    Drawn drawn = draw_now();
    const Clock::time_point ended = Clock::now();
    lock.lock();
    last_ = std::move(drawn);
    asked_ = false;
    ++drawings_;
    not_before_ = ended + std::max<Clock::duration>(kBetween, (ended - began) * kSharesOfTime);
    changed_.notify_all();
  }
}

ReportDrawer::Drawn ReportDrawer::draw_now() {
  std::vector<std::string> words = drawing_.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (const int error = SpawnSettings(drawing_.log.string()).start(process, arguments.data()); error != 0)
    return {nullptr, drawing_.command.front() + " cannot be started: " + std::strerror(error)};
  bound(process);
  const Clock::time_point deadline = Clock::now() + kLongest;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    std::unique_lock lock(mutex_);
    const bool is_over = changed_.wait_for(lock, kBetweenLooks, [this] { return stopping_; });
    if (!is_over && Clock::now() < deadline) continue;
    kill(-process, SIGKILL);
    waitpid(process, &status, 0);
    return {nullptr, is_over ? "the run has ended" : "it takes too long; the run draws its report at its end"};
  }
  if (status != 0) {
    if (WIFEXITED(status)) return {nullptr, last_words(drawing_.log)};
    return {nullptr, "it was ended by signal " + std::to_string(WTERMSIG(status))};
  }
  std::ifstream file(drawing_.page, std::ios::binary);
  return {std::make_shared<const std::string>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()),
          {}};
}

}  // namespace rankwire
