#include "tests/campaign/crash_line.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

namespace rankwire::testing {
namespace {

/// Time of the processor; most seeds take a hundredth of a second, under a sanitizer some tenths.
constexpr int kSecondsOfASeed = 120;

struct PreparedLine {
  const char* program = "";
  char text[512] = {};
  size_t length = 0;
};
PreparedLine crashed, stuck;

void report(int signal) {
  const PreparedLine& line = signal == SIGPROF ? stuck : crashed;
  // Nothing can be done about an output that is closed.
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, line.text, line.length);
  _exit(1);
}

void prepare(PreparedLine& line, std::string_view what, uint64_t seed) {
  const auto end = fmt::format_to_n(line.text, sizeof line.text, "seed {}\n  {}\n  again: {} --first {} --seeds 1\n",
                                    seed, what, line.program, seed);
  line.length = static_cast<size_t>(end.out - line.text);
}

}  // namespace

void watch_for_crashes(const char* program) {
  crashed.program = stuck.program = program;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF}) std::signal(signal, report);
}

void watch_seed(uint64_t seed) {
  std::fflush(stdout);
  prepare(crashed, "ended by a signal: an assertion, or a bad access", seed);
  prepare(stuck, "does not end", seed);
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = kSecondsOfASeed, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace rankwire::testing
