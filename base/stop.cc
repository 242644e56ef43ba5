#include "base/stop.h"

#include "base/error.h"

namespace rankwire {
namespace {

std::atomic<const std::atomic<bool>*> stop_flag{nullptr};

}  // namespace

void stop_work_when(const std::atomic<bool>& flag) noexcept {
  stop_flag.store(&flag, std::memory_order_release);
}

void check_stop() {
  const std::atomic<bool>* flag = stop_flag.load(std::memory_order_acquire);
  if (flag != nullptr && flag->load(std::memory_order_relaxed)) fail_run("stopped by a signal; nothing is left of it");
}

}  // namespace rankwire
