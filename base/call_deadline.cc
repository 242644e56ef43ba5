#include "base/call_deadline.h"

#include <utility>

namespace rankwire {

CallDeadline::CallDeadline(std::chrono::milliseconds time, std::function<void()> passed)
    : thread_([this, time, passed = std::move(passed)] {
        std::unique_lock lock(mutex_);
        const auto is_over = [this] { return over_; };
        if (!changed_.wait_for(lock, time, is_over)) passed();
      }) {}

CallDeadline::~CallDeadline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace rankwire
