#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

/// What a child finds as its standard output and error, and its process group.
class Redirection {
 public:
  explicit Redirection(const std::filesystem::path& output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    if (output.empty()) return;
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~Redirection() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

int status_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& output)
    : leads_group_(!output.empty()) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const Redirection redirection(output);
  const int error =
      posix_spawnp(&pid_, arguments[0], redirection.actions(), redirection.attributes(), arguments.data(), environ);
  if (error != 0) fail_run("{} cannot be started: {}", command.front(), std::strerror(error));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), leads_group_(other.leads_group_), status_(std::exchange(other.status_, 0)) {}

ChildProcess::~ChildProcess() {
  if (status()) return;
  kill(leads_group_ ? -pid_ : pid_, SIGKILL);
  int unused;
  waitpid(pid_, &unused, 0);
}

std::optional<int> ChildProcess::status() {
  int status;
  if (!status_ && waitpid(pid_, &status, WNOHANG) != 0) status_ = status_of(status);
  return status_;
}

void ChildProcess::signal(int number) {
  if (!status()) kill(pid_, number);
}

std::string last_words(const std::filesystem::path& output) {
  constexpr std::string_view kError = "error: ";
  std::ifstream file(output);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  if (last.starts_with(kError)) last.erase(0, kError.size());
  return last.empty() ? "it ended without a word" : last;
}

std::string run_program(const std::vector<std::string>& command, std::chrono::milliseconds patience) {
  try {
    ChildProcess child(command);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!child.status()) {
      if (std::chrono::steady_clock::now() > deadline)
        return fmt::format("{} took longer than {} s", command.front(), patience.count() / 1000);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return *child.status() == 0 ? "" : fmt::format("{} failed", command.front());
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace rankwire
