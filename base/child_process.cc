#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

/// The end of a child's beginning: tells its parent through a pipe, of which nothing is left where it could be started.
[[noreturn]] void fail_to_start(int pipe) {
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(pipe, &error, sizeof error);
  _exit(127);
}

/// What this process ignores a program would ignore as well, and a shell has what it starts with `&` ignore SIGINT: who
/// then asks the child to end by it would ask in vain. As it is only for SIGHUP, which nohup has ignored on purpose.
void heed_signals() {
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM})
    ::signal(number, SIG_DFL);
}

/// Becomes the program. Between fork and here nothing is called that is not safe then (signal-safety(7), and execvp).
[[noreturn]] void become(char* const* arguments, const char* output, pid_t parent, int pipe) {
  // A parent that is killed can end nothing, and what it has started must not go on sending.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  if (*output != 0) {
    const int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0 || setpgid(0, 0) != 0)
      fail_to_start(pipe);
    // Those that this process waits for, and so has blocked, are to end the child.
    heed_signals();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
  }
  execvp(arguments[0], arguments);
  fail_to_start(pipe);
}

int status_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& output)
    : leads_group_(!output.empty()) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const std::string file = output.string();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_run("no pipe: {}", std::strerror(errno));
  const pid_t parent = getpid();
  pid_ = fork();
  int error = pid_ < 0 ? errno : 0;
  if (pid_ == 0) become(arguments.data(), file.c_str(), parent, ends[1]);
  close(ends[1]);
  if (pid_ > 0 && read(ends[0], &error, sizeof error) == sizeof error) waitpid(pid_, nullptr, 0);
  close(ends[0]);
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

std::chrono::nanoseconds ChildProcess::longest_wait() const {
  std::chrono::nanoseconds longest{0};
  std::error_code gone;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid_);
  for (std::filesystem::directory_iterator at(tasks, gone), end; !gone && at != end; at.increment(gone)) {
    // Nanoseconds that it ran, those that it waited for a core, and how often it was given one.
    std::ifstream file(at->path() / "schedstat");
    int64_t ran = 0, waited = 0;
    if (file >> ran >> waited) longest = std::max(longest, std::chrono::nanoseconds(waited));
  }
  return longest;
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
