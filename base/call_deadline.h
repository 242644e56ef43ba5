// For a call of a library that may never return.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace rankwire {

/// Lives around the call, in one thread. When it still does after `time`, a thread of its own calls `passed`, once,
/// which must not throw: since nothing else ends such a call, it says so and ends the process.
class CallDeadline {
 public:
  CallDeadline(std::chrono::milliseconds time, std::function<void()> passed);
  ~CallDeadline();
  CallDeadline(const CallDeadline&) = delete;
  CallDeadline& operator=(const CallDeadline&) = delete;

 private:
  std::mutex mutex_;  // of `over_`
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace rankwire
