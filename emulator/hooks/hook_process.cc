#include "emulator/hooks/hook_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
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
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_end.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return;
  pid_ = 0;
  fail_run("{}: '{}' cannot be started: {}", what, words[0], std::strerror(error));
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
