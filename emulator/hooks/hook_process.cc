#include "emulator/hooks/hook_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

std::pair<int, int> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_run("no pipe: {}", std::strerror(errno));
  return {ends[0], ends[1]};
}

void take(HookPipe& from, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t n = read(from.get(), buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) from.close();
}

struct Program {
  char* const* arguments;
  int output, errors;  ///< where it prints
  pid_t parent;
  sigset_t signals = {};  ///< that are blocked in it
};

/// Becomes the program, in the memory of its parent, which waits: nothing is called but what signal-safety(7) allows,
/// and execvp, which takes no memory in glibc. Tells through `trouble` why not.
[[noreturn]] void become(const Program& program, int trouble) {
  // A run that is killed can end nothing, and what it has started must not go on.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != program.parent) _exit(127);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool ok = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(program.output, STDOUT_FILENO) >= 0 &&
            dup2(program.errors, STDERR_FILENO) >= 0 && setpgid(0, 0) == 0;
  // Handlers are the parent's, and would run in its memory.
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
      continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
  }
  ok = ok && sigprocmask(SIG_SETMASK, &program.signals, nullptr) == 0;
  if (ok) execvp(program.arguments[0], program.arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(trouble, &error, sizeof error);
  _exit(127);
}

/// Starts it without a copy of this process, of which a run may have much, and which fork would keep its loop from
/// writing to. Returns its number, or minus what is the matter.
int start(Program program) {
  const auto [told, trouble] = make_pipe();
  HookPipe from(told), to(trouble);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &program.signals);
  const pid_t pid = vfork();
  if (pid == 0) become(program, to.get());
  int error = pid < 0 ? errno : 0;
  to.close();
  if (pid > 0 && read(from.get(), &error, sizeof error) == sizeof error) waitpid(pid, nullptr, 0);
  pthread_sigmask(SIG_SETMASK, &program.signals, nullptr);
  return error == 0 ? pid : -error;
}

}  // namespace

void HookPipe::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

HookProcess::HookProcess(std::string_view what, const std::vector<std::string>& words)
    : HookProcess(what, words, make_pipe(), make_pipe()) {}

HookProcess::~HookProcess() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

HookProcess::HookProcess(std::string_view what, const std::vector<std::string>& words, std::pair<int, int> output,
                         std::pair<int, int> errors)
    : output_(output.first), errors_(errors.first) {
  const HookPipe output_end(output.second), errors_end(errors.second);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int started = start(
      {.arguments = arguments.data(), .output = output_end.get(), .errors = errors_end.get(), .parent = getpid()});
  if (started > 0) {
    pid_ = started;
    return;
  }
  fail_run("{}: '{}' cannot be started: {}", what, words[0], std::strerror(-started));
}

std::optional<int> HookProcess::listen(std::chrono::milliseconds patience) {
  int status = 0;
  const bool has_ended = pid_ > 0 && waitpid(pid_, &status, WNOHANG) != 0;
  if (has_ended) pid_ = 0;
  // What it has written before it ended is there by now, and nothing else is waited for.
  bool is_more = take_what_is_there(has_ended ? std::chrono::milliseconds(0) : patience);
  while (has_ended && is_more && !prints_too_much()) is_more = take_what_is_there(std::chrono::milliseconds(0));
  if (!has_ended) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// False where nothing came within `patience`.
bool HookProcess::take_what_is_there(std::chrono::milliseconds patience) {
  // poll() passes over descriptors that are negative.
  std::array<pollfd, 2> descriptors{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(patience.count())) <= 0) return false;
  if (descriptors[0].revents != 0) take(output_, said);
  if (descriptors[1].revents != 0) take(errors_, complained);
  return true;
}

}  // namespace rankwire
