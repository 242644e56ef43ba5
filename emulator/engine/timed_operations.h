// Communication operations in progress that take a known time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/engine/communication_times.h"
#include "emulator/engine/queues.h"
#include "emulator/engine/running_operations.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Used by the engine shard's thread alone, in place of Communication. Nothing throws.
class TimedOperations {
 public:
  /// Workload, times and timers outlive it. Ends are entered into `timers`.
  TimedOperations(const Workload& workload, const CommunicationTimes& times, TimerQueue& timers);

  /// Starts a communication node; of the collectives of a group a rank runs one at a time.
  void start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept;
  /// One of its own timers, of kind kCollective or kTransfer.
  void expire(const TimerQueue::Timer& timer) noexcept;

  /// Operations that ended since `clear_finished`.
  std::span<const FinishedOperation> finished() const noexcept { return finished_; }
  void clear_finished() noexcept { finished_.clear(); }

  /// Operations that wait for somebody to begin them, in words, at most `most`.
  std::vector<std::string> waiting(size_t most) const;

 private:
  /// What has begun, without its end.
  using Begun = FinishedOperation;
  /// A transfer in one of the two iterations that may be under way at once.
  struct Exchange {
    Begun sender{}, receiver{};
    bool sending = false, receiving = false, delivered = false;
  };
  enum class Moment : uint32_t { kDelivered, kSent };
  /// A timer's item: the moment and the parity of the iteration.
  static uint32_t item_of(Moment moment, uint32_t parity) { return static_cast<uint32_t>(moment) << 1 | parity; }

  void start_collective(const Begun& begun, const Node& node, Time now) noexcept;
  void start_transfer(const Begun& begun, const Node& node, uint32_t iteration, Time now) noexcept;
  void end_receive(Exchange& both, Time now) noexcept;
  void end(const Begun& begun, Time now) noexcept;
  Exchange& exchange(uint32_t transfer, uint32_t parity) noexcept { return exchanges_[2 * size_t{transfer} + parity]; }

  const Workload& workload_;
  const CommunicationTimes& times_;
  TimerQueue& timers_;
  /// By group: who has begun its collective. There is one at most: nobody ends it before all have begun it.
  std::vector<std::vector<Begun>> meetings_;
  std::vector<Exchange> exchanges_;  ///< by transfer and parity of the iteration
  std::vector<FinishedOperation> finished_;
};

}  // namespace rankwire
