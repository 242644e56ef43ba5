// The one exception of set-up code. `main` prints its text on one line and exits with its status.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rankwire {

/// What went wrong, which decides the exit status: 2 for usage, configuration and input files, 1 for the run itself.
enum class ErrorKind { kInput, kRun };

/// Thrown by set-up code only, never on the hot path. The text names the file, line, key, node or device and says what
/// would be right.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <class... Args>
[[noreturn]] void fail_input(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kInput, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_run(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kRun, fmt::format(format, std::forward<Args>(args)...));
}

/// Things a user should know that do not stop the run. Set-up functions append to it; `cli` prints and records them.
using Warnings = std::vector<std::string>;

}  // namespace rankwire
