// A program that a lab names, as it runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankwire {

/// A descriptor of a pipe.
class HookPipe {
 public:
  explicit HookPipe(int number) : number_(number) {}
  ~HookPipe() { close(); }
  HookPipe(const HookPipe&) = delete;
  HookPipe& operator=(const HookPipe&) = delete;
  int get() const { return number_; }
  void close();

 private:
  int number_;
};

/// A process in a group of its own, started without a shell and with an empty standard input. Belongs to one thread.
/// Destroying it kills the process, with its children that are still in its group; it is killed as well when this
/// process is, or the thread that has started it ends.
class HookProcess {
 public:
  /// The most that is kept of what it has printed, or complained of, and nobody has taken.
  static constexpr size_t kMostOutput = size_t{1} << 20;

  /// `words`: the program, looked for in PATH, and its arguments. Throws Error(kRun) naming `what` when it cannot be
  /// started.
  HookProcess(std::string_view what, const std::vector<std::string>& words);
  ~HookProcess();
  HookProcess(const HookProcess&) = delete;
  HookProcess& operator=(const HookProcess&) = delete;

  /// Waits at most `patience` for output, and appends it to `said` and `complained`. Absent while it runs; once it has
  /// ended, and all that it had printed by then is read, its exit status, 128 + n if signal n ended it. A child that it
  /// leaves behind is not waited for, though it may hold its output.
  std::optional<int> listen(std::chrono::milliseconds patience);

  bool prints_too_much() const { return said.size() > kMostOutput || complained.size() > kMostOutput; }

  std::string said, complained;  ///< standard output and error; whoever listens may take from them

 private:
  HookProcess(std::string_view what, const std::vector<std::string>& words, std::pair<int, int> output,
              std::pair<int, int> errors);
  bool take_what_is_there(std::chrono::milliseconds patience);

  HookPipe output_, errors_;
  pid_t pid_ = 0;
};

}  // namespace rankwire
