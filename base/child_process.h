// Programs of the machine that do a part of the work.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rankwire {

/// A program of which this process is the parent. Its end is waited for by the destructor, which kills it first, and
/// what it has started, where it has a process group of its own. It is killed as well when this process is, or the
/// thread that has started it ends.
class ChildProcess {
 public:
  /// Starts the program `command[0]`, which is looked for in PATH unless it has a slash. With `output` its standard
  /// output and error replace that file, and it has a process group of its own, so that Ctrl-C at the terminal reaches
  /// this process alone, which tells it once, and no signal is blocked in it or, but for SIGHUP, ignored; otherwise
  /// output, group and what is ignored are those of this process. Throws Error(kRun) when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& output = {});
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// Its exit status once it has ended, 128 + n if signal n ended it; absent until then. Does not wait.
  std::optional<int> status();
  void signal(int number);
  /// For how long that of its threads which waited longest has been ready to run while others had the cores. Zero once
  /// it has ended, and where the kernel does not tell (schedstat).
  std::chrono::nanoseconds longest_wait() const;

 private:
  pid_t pid_;
  bool leads_group_;
  std::optional<int> status_;
};

/// The last line of what a rankwire wrote into its `output`, without the word "error" in front of it.
std::string last_words(const std::filesystem::path& output);

/// Runs the program `command[0]`, which is looked for in PATH, and waits for its end; one that takes longer than
/// `patience` is killed. Returns what went wrong, or "". Standard output and error are those of this process.
std::string run_program(const std::vector<std::string>& command, std::chrono::milliseconds patience);

}  // namespace rankwire
