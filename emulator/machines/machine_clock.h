// The clock of a run that begins at the same time on several machines.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "base/clock.h"

namespace rankwire {

/// A real clock whose `start` waits for the time that was agreed.
class MachineClock final : public Clock {
 public:
  /// Before `start`: when that is, nanoseconds of this machine's steady clock.
  void agree(int64_t start) { start_ = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(start)); }

  void start() noexcept override {
    // Whoever is woken up is late by as much as the system likes.
    std::this_thread::sleep_until(start_ - std::chrono::milliseconds(2));
    while (std::chrono::steady_clock::now() < start_) {
    }
  }
  Time now() noexcept override {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return Time(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count() * 1000);
  }
  void idle_until(Time) noexcept override {}
  bool runs_by_itself() const noexcept override { return true; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rankwire
