// What whoever starts a run keeps in hand: how it is stopped, and who looks on. Runs that go on beside each other call
// the functions from threads of their own, also at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rankwire {

class LiveFeed;

/// A run that goes on. Its functions may be called by any thread.
struct WatchedRun {
  std::string label;               ///< what it is called
  uint64_t operations = 0;         ///< that it has
  std::function<uint64_t()> done;  ///< operations that have ended
  /// Of the time that it is predicted to take, what it has done takes this share, 0 .. 1. Empty: not predicted.
  std::function<double()> share = nullptr;
};

struct RunControl {
  /// Ends the run, with what it has measured, once it is true; outlives the run.
  const std::atomic<bool>& interrupted;
  /// Told when a run begins. Its functions may be called until what is returned is destroyed, which is at the end of
  /// the run. Several of them may be at work. Empty: nobody looks on.
  std::function<std::shared_ptr<void>(WatchedRun run)> watch = nullptr;
  /// Told of what is found doubtful once devices are touched. Empty: nobody is told, but the record has it.
  std::function<void(std::string_view text)> warn = nullptr;

  /// Grows whenever somebody wants to know who waits for whom, and `answer` is told by each worker in its thread: a
  /// line each, after what the run is called, when, and how many operations have ended. Null: nobody asks.
  const std::atomic<uint32_t>* asked = nullptr;
  std::function<void(std::span<const std::string> lines)> answer = nullptr;

  /// Told of each run in real time before it begins: what its workers publish while it goes on, for as long as somebody
  /// has it. Empty: nobody looks on, and nothing is published.
  std::function<void(std::shared_ptr<LiveFeed> feed)> look_on = nullptr;

  /// While it is true runs in real time post nothing; outlives them. Null: nobody holds them.
  const std::atomic<bool>* held = nullptr;

  /// By whom or what, once `interrupted` is true: the reason of a run that ends so. Empty: by a signal.
  std::function<std::string()> stopped_by = nullptr;

  std::string stop_reason() const { return stopped_by ? stopped_by() : "stopped by a signal"; }
  std::shared_ptr<void> watched(WatchedRun run) const { return watch ? watch(std::move(run)) : nullptr; }
  void warned(std::string_view text) const {
    if (warn) warn(text);
  }
};

}  // namespace rankwire
