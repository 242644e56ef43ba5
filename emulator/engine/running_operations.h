// Communication operations in progress: which of their steps have started, and what those send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/message.h"
#include "base/units.h"
#include "emulator/engine/message_arrivals.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/queues.h"
#include "emulator/engine/tie_watch.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// What a reduce takes: `latency`, and the time in which `bandwidth` takes its bytes in, whatever they are when absent.
struct ReduceTimes {
  std::optional<Bandwidth> bandwidth;
  Duration latency;
};

struct FinishedOperation {
  RankId rank;
  uint32_t node;
  Time start, end;
};

/// A message that an operation waits for.
struct Waiting {
  RankId rank;
  uint32_t node = 0;
  uint32_t iteration = 0;
  StepKind kind = StepKind::kReceive;  ///< kSend: waits for the acknowledgement of its own message
  MessageId message;
  ConnectionId connection;
};

/// Each operation runs in its node's slot (NodePlan::slot), and there takes its steps in the partial order of its
/// schedule: a send is complete when its message is acknowledged, a receive when its message has arrived, a reduce when
/// its channel's reducer has done it, one after the other. An operation ends with its last step. Its shard's thread
/// alone; no allocation after construction, but in `waiting`.
class RunningOperations {
 public:
  /// All outlive it. Reduces in progress are entered into `timers`, as TimerQueue::Kind::kReduce; whoever takes them
  /// out calls `complete`. `arrivals` is asked by receives that start; who tells it of messages calls `complete`, too.
  RunningOperations(const Workload& workload, const Plan& plan, const ReduceTimes& reduces, TimerQueue& timers,
                    MessageArrivals& arrivals, TieWatch& ties);

  /// Channels of all slots, of which each has a reducer and is one to TieWatch.
  static uint64_t channels(const Plan& plan) { return channel_offsets(plan).back(); }

  /// Starts a communication node. Its slot is free: the caller runs one collective a group and rank at a time.
  void start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept;
  /// A step that has started is complete, and those that waited for nothing else start.
  void complete(uint32_t slot, uint32_t step, Time at) noexcept;

  /// The step of the operation in the edge's slot that is an end of this message of the connection's.
  uint32_t step_of(const EdgeMessages& edge, uint32_t index) const noexcept {
    return slots_[edge.slot].schedule->edge_steps[edge.first_step + index - edge.first_index];
  }
  /// The edge of the schedule, of the operation in the slot, that the step belongs to.
  uint32_t edge_of(uint32_t slot, uint32_t step) const noexcept { return slots_[slot].schedule->edge_of[step]; }

  /// Messages to be posted, oldest first.
  std::span<const Message> outgoing() const noexcept { return outgoing_; }
  /// So many of them have been posted.
  void posted(size_t count) noexcept {
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<ptrdiff_t>(count));
  }
  /// Operations that ended since `clear_finished`.
  std::span<const FinishedOperation> finished() const noexcept { return finished_; }
  void clear_finished() noexcept { finished_.clear(); }

  /// Operations that have begun and not ended.
  uint32_t in_progress() const noexcept { return in_progress_; }

  /// The first step of each operation that waits for the network, at most `most`.
  std::vector<Waiting> waiting(size_t most) const;

 private:
  struct Slot {
    RankId rank;
    uint32_t node = 0;
    uint32_t iteration = 0;
    uint32_t remaining = 0;  // steps; 0 when the slot is free
    uint32_t position = 0;   // NodePlan::position
    const PlannedSchedule* schedule = nullptr;
    const EdgePlan* edges = nullptr;
    uint64_t first_pending = 0;  // offset into pending_
    uint64_t first_started = 0;  // offset into started_
    uint64_t first_channel = 0;  // offset into channel_free_
    Time start, end;
  };

  static std::vector<uint64_t> channel_offsets(const Plan& plan) {
    return offsets_by_slot(plan, [](const PlannedSchedule& schedule) { return schedule.channels; });
  }
  void start_step(uint32_t slot, uint32_t step, Time now) noexcept;
  void send(const Slot& slot, uint32_t step) noexcept;
  void receive(uint32_t slot, uint32_t step, Time now) noexcept;
  void reduce(uint32_t slot, uint32_t step, Time now) noexcept;

  const Workload& workload_;
  const Plan& plan_;
  const ReduceTimes reduces_;
  TimerQueue& timers_;
  MessageArrivals& arrivals_;
  TieWatch& ties_;
  std::vector<Slot> slots_;
  std::vector<uint16_t> pending_;   // by slot and PlannedSchedule::join_of: predecessors not complete
  std::vector<uint64_t> started_;   // by slot, a bit a step: has started and is not complete
  std::vector<Time> channel_free_;  // by slot and channel: when its reducer is free
  std::vector<Message> outgoing_;
  std::vector<FinishedOperation> finished_;
  uint32_t in_progress_ = 0;
};

}  // namespace rankwire
