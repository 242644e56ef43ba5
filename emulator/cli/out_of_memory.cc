#include "emulator/cli/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace rankwire {
namespace {

pid_t explained_process = 0;
std::terminate_handler usual_end = nullptr;

/// What a log would take memory for.
void write_plainly(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void end_of_process() {
  if (std::current_exception() && ::getpid() == explained_process) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      for (const char* text : {"error: ", kOutOfMemory, "\n"}) write_plainly(text);
      std::_Exit(1);
    } catch (...) {  // which says itself what it is
    }
  }
  usual_end();
  std::abort();
}

}  // namespace

void explain_lack_of_memory_at_the_end() {
  explained_process = ::getpid();
  usual_end = std::set_terminate(end_of_process);
}

}  // namespace rankwire
