#include "emulator/suite/hook.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = size_t{1} << 20;
constexpr size_t kMostQuoted = 300;

/// A descriptor of a pipe.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

std::pair<int, int> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_run("no pipe: {}", std::strerror(errno));
  return {ends[0], ends[1]};
}

/// A process in a group of its own, which ends with this.
class Hook {
 public:
  Hook(std::string_view what, const std::vector<std::string>& words) : Hook(what, words, make_pipe(), make_pipe()) {}
  ~Hook() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  /// Reads what it prints until it ends: its exit status, 128 + n if signal n ended it. Absent where `end` or
  /// `interrupted` came before, or it printed too much.
  std::optional<int> run_until(Clock::time_point end, const std::atomic<bool>& interrupted) {
    constexpr std::chrono::milliseconds kSlice{10};
    while (Clock::now() < end && !interrupted) {
      int status = 0;
      const bool has_ended = waitpid(pid_, &status, WNOHANG) != 0;
      if (has_ended) pid_ = 0;
      // What it has written before it ended is there by now, and nothing else is waited for.
      bool is_more = take_what_is_there(has_ended ? std::chrono::milliseconds(0) : kSlice);
      while (has_ended && is_more && !prints_too_much()) is_more = take_what_is_there(std::chrono::milliseconds(0));
      if (prints_too_much()) return std::nullopt;
      if (has_ended) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return std::nullopt;
  }

  bool prints_too_much() const { return said.size() > kMostOutput || complained.size() > kMostOutput; }

  std::string said, complained;

 private:
  Hook(std::string_view what, const std::vector<std::string>& words, std::pair<int, int> output,
       std::pair<int, int> errors)
      : output_(output.first), errors_(errors.first) {
    const Descriptor output_end(output.second), errors_end(errors.second);
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

  /// False where nothing came within `patience`.
  bool take_what_is_there(std::chrono::milliseconds patience) {
    // poll() passes over descriptors that are negative.
    std::array<pollfd, 2> descriptors{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
    if (poll(descriptors.data(), descriptors.size(), static_cast<int>(patience.count())) <= 0) return false;
    if (descriptors[0].revents != 0) take(output_, said);
    if (descriptors[1].revents != 0) take(errors_, complained);
    return true;
  }

  static void take(Descriptor& from, std::string& text) {
    std::array<char, 4096> buffer;
    const ssize_t n = read(from.get(), buffer.data(), buffer.size());
    if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) from.close();
  }

  Descriptor output_, errors_;
  pid_t pid_ = 0;
};

}  // namespace

std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) fail_input("command '{}': the quotation mark {} has no other end", text, quote);
  if (words.empty() || words[0].empty()) fail_input("command '{}': names no program", text);
  return words;
}

std::string words_of_hook(std::string_view printed) {
  std::string tail(printed.substr(printed.size() - std::min(printed.size(), kMostQuoted)));
  if (tail.size() < printed.size()) tail.insert(0, "... ");
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  for (char& c : tail)
    if (c == '\n') c = ' ';
  return tail.empty() ? "it wrote nothing" : "it wrote: " + tail;
}

std::string run_hook(std::string_view what, const std::string& command, std::chrono::milliseconds patience,
                     const std::atomic<bool>& interrupted) {
  Hook hook(what, split_command(command));
  const std::optional<int> status = hook.run_until(Clock::now() + patience, interrupted);
  const std::string words = words_of_hook(hook.complained + hook.said);
  if (hook.prints_too_much()) fail_run("{}: '{}' printed more than 1 MiB", what, command);
  if (!status && interrupted) fail_run("{}: '{}' was ended by an interrupt; {}", what, command, words);
  if (!status)
    fail_run("{}: '{}' did not end within {:.3g} s; {}", what, command, static_cast<double>(patience.count()) / 1000,
             words);
  if (*status != 0) fail_run("{}: '{}' ended with status {}; {}", what, command, *status, words);
  return std::move(hook.said);
}

}  // namespace rankwire
