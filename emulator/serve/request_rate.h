// How often somebody may ask.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace rankwire {

/// Grants so many requests a second, and as many at once after a second without any. Thread-safe.
class RequestRate {
 public:
  using Clock = std::chrono::steady_clock;

  /// `a_second` > 0.
  explicit RequestRate(uint32_t a_second) : a_second_(a_second), left_(a_second) {}

  bool take(Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    left_ = std::min(a_second_, left_ + a_second_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  const double a_second_;
  std::mutex mutex_;
  double left_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace rankwire
