// The engine: walks the ranks' graphs, times what computes, starts what communicates, and knows who waits for whom.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/message.h"
#include "base/record.h"
#include "base/units.h"
#include "emulator/engine/collective_order.h"
#include "emulator/engine/communication.h"
#include "emulator/engine/communication_times.h"
#include "emulator/engine/compute_times.h"
#include "emulator/engine/job_gates.h"
#include "emulator/engine/node_places.h"
#include "emulator/engine/node_variation.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/queues.h"
#include "emulator/engine/rank_progress.h"
#include "emulator/engine/rank_wait.h"
#include "emulator/engine/shard.h"
#include "emulator/engine/timed_operations.h"
#include "emulator/workload/node_source.h"
#include "emulator/workload/workload.h"

namespace rankwire {

struct EngineOptions {
  uint32_t iterations = 1;     ///< 1 .. MessageId::kMaxIterations; of a workload without `jobs`
  uint32_t compute = 1;        ///< compute and memory nodes that a rank runs at once, > 0
  uint32_t host = 1;           ///< host nodes that a rank runs at once, > 0
  uint32_t communication = 0;  ///< collectives that a rank runs at once; 0: one a group and no other limit
  const NodeVariation* variation = nullptr;  ///< outlives the engine; null: nodes take their times
  CommunicationOptions messages;
  /// Not null: operations take these times and send nothing; the plan is empty. Outlives the engine.
  const CommunicationTimes* times = nullptr;
  std::optional<OnlyJob> only;  ///< the other jobs do nothing
  Shard shard;                  ///< the ranks that this engine has
};

/// What ranks have come to, in what takes time: of all of them together.
struct WorkDone {
  Duration computed;  ///< of nodes that compute and have ended
  Bytes wire, local;  ///< payload of data messages that were delivered, by their path

  WorkDone& operator+=(const WorkDone& other) {
    computed += other.computed, wire += other.wire, local += other.local;
    return *this;
  }
};

/// One shard: all ranks of one worker, used by its thread alone. What others send to its ranks, and what becomes of
/// messages that its ranks send, it is told by events alone. After construction nothing allocates and nothing throws;
/// traces that stay in their files are read on, and take memory for that.
///
/// Ready nodes are taken lowest id first; compute and host nodes wait for a free place lowest id first; the collectives
/// of a group run one at a time in the group's run order; SEND and RECV start when they are ready. A rank begins an
/// iteration when it has ended the one before and all ranks of its job have ended the one before that.
///
/// Composed of parts: of each rank a NodeSource, NodePlaces and a CollectiveOrder; of all ranks JobGates, and
/// Communication or TimedOperations. None of them knows another.
class Engine {
 public:
  /// Workload, plan and sink outlive the engine.
  Engine(const Workload& workload, const Plan& plan, const EngineOptions& options, RecordSink& sink);

  /// Finishes what is due at `now`, in the order of time, and starts what has become ready.
  void advance(Time now) noexcept;
  /// Messages to be posted, oldest first; tell `posted` how many the transport took.
  std::span<const Message> outgoing() const noexcept { return communication_.outgoing(); }
  void posted(size_t count) noexcept { communication_.posted(count); }
  /// What the transport reported; `advance` then starts what follows.
  void handle(Time now, std::span<const Event> events) noexcept;

  /// The end of the earliest compute or reduce in progress, or the beginning of a job before that.
  Time next_event() const noexcept { return timers_.next(); }
  /// Nothing computes, and every message has come to its end at both ends: in a turn that is over, when this is all
  /// ranks' engine, nothing will ever happen to it. Never after a message has failed.
  bool awaits_nothing() const noexcept {
    const CommunicationCounters& messages = communication_.counters();
    return next_event() == Time::never() && outgoing().empty() && messages.failed == 0 && !messages.under_way() &&
           messages.sent <= messages.delivered;
  }
  /// All ranks of the shard have finished.
  bool finished() const noexcept { return gates_.finished(); }
  /// A message failed, and the run is to end with it, or a trace cannot be read on.
  bool must_stop() const noexcept {
    return cannot_read_ || (communication_.failed() && options_.messages.on_failure == OnFailure::kStop);
  }
  /// Why the run must stop.
  std::string failure_text() const;
  /// Grows whenever a node or a message completes.
  uint64_t progress() const noexcept { return nodes_completed() + messages_handled_; }
  /// Any thread may ask.
  uint64_t nodes_completed() const noexcept { return nodes_completed_.load(std::memory_order_relaxed); }
  /// Any thread may ask.
  WorkDone work_done() const noexcept {
    return {.computed = Duration(computed_ps_.load(std::memory_order_relaxed)),
            .wire = Bytes(wire_bytes_.load(std::memory_order_relaxed)),
            .local = Bytes(local_bytes_.load(std::memory_order_relaxed))};
  }
  /// By all ranks of the job, as far as the shard knows.
  uint32_t iterations_ended(JobId job) const noexcept { return gates_.ended_by_all(job); }
  const Communication& communication() const noexcept { return communication_; }
  /// By rank of the run: the end of its last node so far; 0 for ranks of other shards.
  std::vector<Duration> rank_times() const;
  /// Sets those of the shard's ranks, by rank of the run.
  void tell_progress(std::span<RankProgress> ranks) const noexcept;
  /// By job.
  std::vector<JobSpan> job_spans() const { return gates_.spans(); }
  /// Of the nodes of a rank of the shard that have begun.
  const ComputeTimes& compute_times(RankId rank) const noexcept { return ranks_[place_[rank.value]].times; }
  /// What keeps ranks from going on, a line each, at most `most`: messages awaited (with the transport's own words from
  /// `describe`), collectives not yet begun by a member, and ranks that wait for the iteration to end.
  template <class Describe>
  std::vector<std::string> stall_report(size_t most, Describe describe) const;
  /// The same for a program, all of it.
  std::vector<RankWait> waits() const;
  /// The ranks of the shard that have ended their last iteration.
  std::vector<RankId> finished_ranks() const;
  /// The first connections that have failed, as WaitKind::kAnswer of their sources, and by what each.
  std::pair<std::vector<RankWait>, std::vector<Failure>> broken_connections() const;

 private:
  struct Rank {
    RankId id;
    std::unique_ptr<NodeSource> source;
    NodePlaces places;
    CollectiveOrder collectives;
    uint32_t iteration = 0;
    bool awaits_iteration = false, finished = false;
    bool is_late = false;  ///< may begin its iteration, and a timer says when it does
    RankProgress progress;
    ComputeTimes times;
  };

  Rank& at(RankId rank) noexcept { return ranks_[place_[rank.value]]; }
  void touch(RankId rank) noexcept;
  void start(RankId rank, Time now) noexcept;
  void expire(const TimerQueue::Timer& timer) noexcept;
  void settle(Time now) noexcept;
  void visit(RankId rank, Time now) noexcept;
  void take_ready(RankId rank, Time now) noexcept;
  void start_timed(RankId rank, PlaceKind kind, Time now) noexcept;
  Time end_of(RankId rank, uint32_t node, Time start) noexcept;
  void start_collectives(RankId rank, Time now) noexcept;
  void complete(RankId rank, uint32_t node, Time start, Time end) noexcept;
  void collect_finished() noexcept;
  void end_iteration(RankId rank, Time now) noexcept;
  void begin_iteration(RankId rank, Time now) noexcept;
  void begin_iterations(std::span<const RankId> ranks, Time now) noexcept;
  void start_communication(RankId rank, uint32_t node, Time now) noexcept;
  void end_operation(const FinishedOperation& operation) noexcept;
  std::string describe(const RankWait& wait) const;
  std::vector<RankWait> network_waits(size_t most) const;
  std::vector<RankWait> idle_waits() const;

  const Workload& workload_;
  const EngineOptions options_;
  RecordSink& sink_;
  TimerQueue timers_;
  Communication communication_;
  std::optional<TimedOperations> timed_;  // instead of communication_
  std::vector<Rank> ranks_;               // of the shard, ascending
  std::vector<uint32_t> place_;           // by rank of the run: where in ranks_; meaningless for those of other shards
  RankQueue touched_;
  JobGates gates_;
  bool cannot_read_ = false;
  // Written by the shard's thread alone.
  std::atomic<uint64_t> nodes_completed_ = 0;
  std::atomic<int64_t> computed_ps_ = 0, wire_bytes_ = 0, local_bytes_ = 0;
  uint64_t messages_handled_ = 0;
};

template <class Describe>
std::vector<std::string> Engine::stall_report(size_t most, Describe describe) const {
  std::vector<std::string> lines;
  for (const RankWait& wait : network_waits(most))
    lines.push_back(this->describe(wait) + ": " + describe(wait.connection));
  if (timed_) lines = timed_->waiting(most);
  for (const RankWait& wait : idle_waits()) lines.push_back(this->describe(wait));
  for (std::string& line : gates_.idle_reasons()) lines.push_back(std::move(line));
  if (lines.size() > most) lines.resize(most);
  return lines;
}

}  // namespace rankwire
