#include "emulator/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/log.h"

namespace rankwire {

Progress::Progress(std::string label, uint64_t total, std::function<uint64_t()> done, const char* unit)
    : Progress(
          std::move(label), [total] { return total; }, std::move(done), unit) {}

Progress::Progress(std::string label, std::function<uint64_t()> total, std::function<uint64_t()> done, const char* unit)
    : label_(std::move(label)), total_(std::move(total)), done_(std::move(done)), unit_(unit) {
  if (isatty(STDERR_FILENO) != 0 && log_verbosity() == Verbosity::kNormal) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

void Progress::show() {
  std::unique_lock lock(mutex_);
  bool shown = false;
  for (auto wait = std::chrono::seconds(2); !stop_.wait_for(lock, wait, [this] { return stopped_; });
       wait = std::chrono::seconds(1)) {
    const uint64_t done = done_(), total = total_();
    fmt::print(stderr, "\r{}: {} of {} {} ({} %)\x1b[K", label_, done, total, unit_,
               total == 0 ? 0 : done * 100 / total);
    std::fflush(stderr);
    shown = true;
  }
  if (shown) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace rankwire
