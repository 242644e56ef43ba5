// Communication operations in progress: their steps, their messages, and what they still wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/message.h"
#include "base/record.h"
#include "base/units.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/queues.h"
#include "emulator/workload/workload.h"

namespace rankwire {

enum class OnFailure : uint8_t {
  kStop,      ///< the run ends with the first message that fails
  kContinue,  ///< failed messages count as done at both ends, so that the other pairs go on
};

enum class PayloadKeys : uint8_t { kIgnored, kCompared };

struct CommunicationOptions {
  std::optional<Bandwidth> reduce_bandwidth;  ///< absent: reducing takes `reduce_latency` whatever its size
  Duration reduce_latency;
  OnFailure on_failure = OnFailure::kStop;
  PayloadKeys payload_keys = PayloadKeys::kIgnored;  ///< kCompared in checking mode
  bool watch_ties = false;                           ///< for Communication::tied
};

struct CommunicationCounters {
  uint64_t posted = 0, sent = 0, delivered = 0, failed = 0;
  uint64_t duplicated = 0;      ///< delivered more than once
  uint64_t payload_errors = 0;  ///< delivered with a payload that is not the message's
  Bytes bytes_delivered;        ///< payload of data messages
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

/// Used by the engine shard's thread alone. After construction nothing allocates and nothing throws.
class Communication {
 public:
  static constexpr size_t kMostFailures = 64;

  struct Finished {
    RankId rank;
    uint32_t node;
    Time start, end;
  };

  /// Workload, plan, timers and sink outlive it. Reduces in progress are entered into `timers`.
  Communication(const Workload& workload, const Plan& plan, const CommunicationOptions& options, TimerQueue& timers,
                RecordSink& sink);

  /// Starts a communication node. Its slot is free: the caller runs one collective a group and rank at a time.
  void start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept;
  void reduced(uint32_t slot, uint32_t step, Time now) noexcept;
  void handle(Time now, const Event& event) noexcept;

  /// Messages to be posted, oldest first.
  std::span<const Message> outgoing() const noexcept { return outgoing_; }
  void posted(size_t count) noexcept;

  /// Operations that ended since `clear_finished`.
  std::span<const Finished> finished() const noexcept { return finished_; }
  void clear_finished() noexcept { finished_.clear(); }
  /// Tells the sink where the time of an operation that has just ended went, connection by connection. `place` is the
  /// node's in the record. Once an operation, before the next one starts in its slot.
  void record_causes(const Finished& operation, uint32_t place) noexcept;

  /// All of the rank's operations of this iteration are over: its inbox can serve the iteration after the next.
  void end_iteration(RankId rank, uint32_t iteration) noexcept;

  /// What is handled from here on, up to the next call, happens at once.
  void begin_round() noexcept { ++round_; }
  /// With `watch_ties`: events of one round on different connections have made two messages of one connection, or two
  /// reduces of one channel, ready. Their order is that of the events, which nothing but the numbers of connections has
  /// decided.
  bool tied() const noexcept { return tied_; }

  const CommunicationCounters& counters() const noexcept { return counters_; }
  bool failed() const noexcept { return !failures_.empty(); }
  /// Of each connection on which messages failed the first one, oldest first; of the first kMostFailures connections.
  std::span<const Event> failures() const noexcept { return failures_; }
  /// The identity of an event's message in words, and the name of the operation that sends it.
  std::string message_text(const Event& event) const;
  std::string operation_name(const Event& event) const;
  /// The first failed message in words; empty when none failed.
  std::string failure_text() const;
  /// The first step of each operation in progress that waits for the network, at most `most`.
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
    uint64_t first_cause = 0;    // offset into causes_
    Time start, end;
  };
  /// Of a message in one of the two iterations that may be under way at once.
  enum class Arrival : uint8_t {
    kNone,
    kExpected,  ///< its step waits
    kArrived,
    kAbandoned,  ///< its source has given up: nothing waits for it, though it may still arrive
  };

  /// Where the message of an event stands.
  struct Place {
    const Connection& connection;
    uint32_t index = 0, iteration = 0;  ///< within the iteration; which
  };

  /// What was last made ready by an event on a connection or a channel: when, and on which end of which connection.
  struct Cause {
    uint64_t round = 0;
    uint64_t event = kNoEvent;
  };
  static constexpr uint64_t kNoEvent = UINT64_MAX;

  void note_cause(std::vector<Cause>& causes, uint64_t of) noexcept;
  Place place_of(const Event& event) const noexcept;
  const EdgeMessages& sender_of(const Place& place) noexcept;
  const EdgeMessages& receiver_of(const Place& place) noexcept;
  uint32_t step_of(const EdgeMessages& edge, const Place& place) const noexcept;
  Arrival& arrival(ConnectionId connection, uint32_t index, uint32_t iteration) noexcept {
    return arrivals_[(iteration & 1) * plan_.messages_per_iteration + plan_.first_message[connection.value] + index];
  }
  void start_step(uint32_t slot, uint32_t step, Time now) noexcept;
  void send(const Slot& slot, uint32_t step) noexcept;
  void expect(uint32_t slot, uint32_t step, Time now) noexcept;
  void reduce(uint32_t slot, uint32_t step, Time now) noexcept;
  void complete_step(uint32_t slot, uint32_t step, Time at) noexcept;
  void on_sent(const Event& event) noexcept;
  void add_causes(const Event& event, const Place& place) noexcept;
  void on_received(const Event& event) noexcept;
  void on_failed(const Event& event, Time now) noexcept;
  void keep_failure(const Event& event) noexcept;
  void acknowledge(const Place& place, Time at) noexcept;
  void deliver(const Place& place, Arrival how, Time at) noexcept;
  MessageId destination_id(const Place& place) noexcept;
  void record(const Event& event, const Place& place, Time first, Time last) noexcept;

  const Workload& workload_;
  const Plan& plan_;
  const CommunicationOptions options_;
  TimerQueue& timers_;
  RecordSink& sink_;
  std::vector<Slot> slots_;
  std::vector<uint16_t> pending_;    // by slot and PlannedSchedule::join_of: predecessors not complete
  std::vector<uint64_t> started_;    // by slot, a bit a step: has started and is not complete
  std::vector<Time> channel_free_;   // by slot and channel: when its reducer is free
  std::vector<TimeByCause> causes_;  // by slot and edge; empty: nobody wants them
  std::vector<Arrival> arrivals_;    // two iterations x the messages of one
  std::vector<uint32_t> sender_hints_, receiver_hints_;     // by connection, for MessageOwners::find
  std::vector<std::vector<ConnectionId>> incoming_;         // by rank
  std::vector<Cause> causes_of_sends_, causes_of_reduces_;  // by connection; as channel_free_; empty: not watched
  uint64_t round_ = 0, event_ = kNoEvent;
  bool tied_ = false;
  std::vector<Message> outgoing_;
  std::vector<Finished> finished_;
  CommunicationCounters counters_;
  std::vector<Event> failures_;
};

}  // namespace rankwire
