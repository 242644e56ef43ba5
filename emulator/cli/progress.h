// A line of progress for whoever waits longer than two seconds at a terminal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace rankwire {

/// Prints "label: done of total operations", or what `unit` names, to standard error about once a second from the third
/// second on, and wipes it at the end. Silent when standard error is no terminal or the log is quiet. `done` and
/// `total` are called on a thread of its own.
class Progress {
 public:
  Progress(std::string label, uint64_t total, std::function<uint64_t()> done, const char* unit = "operations");
  /// Of a total that is known later; 0 until then.
  Progress(std::string label, std::function<uint64_t()> total, std::function<uint64_t()> done, const char* unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void show();

  const std::string label_;
  const std::function<uint64_t()> total_, done_;
  const char* const unit_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace rankwire
