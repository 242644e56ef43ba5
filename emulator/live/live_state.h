// How a command stands that runs something, as those who look on are told.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/engine/live_feed.h"

namespace rankwire {

/// How it ended.
struct LiveEnd {
  std::string verdict;  ///< as in summary.json
  std::string reason;   ///< empty when ok
  std::string folder;   ///< of the run; empty: nothing was written
};

/// Told by who runs, asked by who looks on: any thread, nobody waits long. Keeps the last run's figures.
class LiveState {
 public:
  /// `name`: of what is run.
  explicit LiveState(std::string name);

  /// A run in real time begins.
  void begin(std::shared_ptr<LiveFeed> feed);
  /// What goes on.
  struct Item {
    std::string label;
    uint64_t total = 0;                       ///< operations
    std::function<uint64_t()> done;           ///< of them
    std::function<double()> share = nullptr;  ///< by time, 0 .. 1; empty: not known
  };
  /// It goes on until what is returned is destroyed, which this outlives; its functions are called until then.
  std::shared_ptr<void> watch(Item item);
  void stopping();
  void end(LiveEnd end);

  /// All that the page shows; `ended` is there when it has ended. Asks workers who waits for whom, once a second at
  /// most: what is shown of that is their answer to the call before.
  nlohmann::ordered_json json();
  /// Waits until it has ended, for `most` at most, and says whether it has.
  bool wait(std::chrono::milliseconds most) const;

  const std::string& name() const { return name_; }
  bool has_ended() const;
  /// Of the last run that has begun; null before the first.
  std::shared_ptr<LiveFeed> feed() const;

 private:
  using Clock = std::chrono::steady_clock;

  const std::string name_;
  const Clock::time_point began_ = Clock::now();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::list<Item> items_;
  std::shared_ptr<LiveFeed> feed_;
  bool stopping_ = false;
  std::optional<LiveEnd> end_;
  Clock::time_point asked_{};
};

}  // namespace rankwire
