// A line of progress for whoever waits longer than two seconds at a terminal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace rankwire {

/// Something that takes a while.
struct ProgressItem {
  std::string label;
  std::function<uint64_t()> total;  ///< 0 until it is known
  std::function<uint64_t()> done;
  const char* unit = "";  ///< what `total` and `done` count
  /// Where known, how far it is by time, 0 .. 1, which what is done may not tell; empty: as far as `done` of `total`.
  std::function<double()> share = nullptr;
};

/// "label: done of total unit (percent %)", or "label: percent %, done of total unit" where the share is known, of the
/// item that is least done, and of several how many go on beside it. Nothing where there is none.
std::optional<std::string> progress_text(const std::list<ProgressItem>& items);

/// Prints `progress_text` of what is going on to standard error about once a second from the third second on, and wipes
/// it when nothing goes on any more. Silent when standard error is no terminal or the log is quiet.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Any thread. The item goes on until what is returned is destroyed, which this outlives; its functions are called
  /// until then, on a thread of the line's.
  std::shared_ptr<void> show(ProgressItem item);

 private:
  void print();

  std::mutex mutex_;
  std::condition_variable stop_;
  std::list<ProgressItem> items_;
  bool stopped_ = false;
  std::thread thread_;
};

/// A line of its own for one thing, as long as it lives.
class Progress {
 public:
  Progress(std::string label, uint64_t total, std::function<uint64_t()> done, const char* unit = "operations");
  /// Of a total that is known later; 0 until then.
  Progress(std::string label, std::function<uint64_t()> total, std::function<uint64_t()> done, const char* unit);

 private:
  ProgressLine line_;
  std::shared_ptr<void> shown_;
};

}  // namespace rankwire
