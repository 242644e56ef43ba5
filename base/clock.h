// The clock of a run: real or virtual. Everything else is given `now`.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/units.h"

namespace rankwire {

class Clock {
 public:
  virtual ~Clock() = default;
  /// The run begins: this moment is time 0. Before any other thread reads the clock.
  virtual void start() noexcept = 0;
  virtual Time now() noexcept = 0;
  /// Called when there is nothing to do before `next`. May return earlier.
  virtual void idle_until(Time next) noexcept = 0;
  /// Time passes although nothing happens, so something unforeseen may still arrive.
  virtual bool runs_by_itself() const noexcept = 0;
};

/// `idle_until` returns at once, so the loop busy-polls.
class RealClock final : public Clock {
 public:
  /// `dilation` seconds on the wall are one of the run: time dilation as of Gupta et al., "To Infinity and Beyond:
  /// Time-Warped Network Emulation", NSDI 2006.
  explicit RealClock(uint32_t dilation = 1) : dilation_(dilation) {}

  void start() noexcept override { start_ = std::chrono::steady_clock::now(); }
  Time now() noexcept override {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return Time(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count() * 1000 / dilation_);
  }
  void idle_until(Time) noexcept override {}
  bool runs_by_itself() const noexcept override { return true; }

 private:
  int64_t dilation_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Time stands still until the loop has nothing left to do, then jumps to the next event.
class VirtualClock final : public Clock {
 public:
  void start() noexcept override { now_ = Time(); }
  Time now() noexcept override { return now_; }
  void idle_until(Time next) noexcept override {
    if (next > now_ && next != Time::never()) now_ = next;
  }
  bool runs_by_itself() const noexcept override { return false; }

 private:
  Time now_;
};

}  // namespace rankwire
