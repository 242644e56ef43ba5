// What ranks send each other: the operations in progress, and what the transport reports of their messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/record.h"
#include "base/units.h"
#include "emulator/engine/first_failures.h"
#include "emulator/engine/message_arrivals.h"
#include "emulator/engine/message_locator.h"
#include "emulator/engine/operation_causes.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/queues.h"
#include "emulator/engine/running_operations.h"
#include "emulator/engine/shard.h"
#include "emulator/engine/tie_watch.h"
#include "emulator/engine/wrong_messages.h"
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
  Bytes bytes_local;            ///< of that, what did not cross the wire

  /// Whether anything has been posted of whose end its source has not heard. After a failure it may be so for ever.
  bool under_way() const { return posted > sent + failed; }

  CommunicationCounters& operator+=(const CommunicationCounters& other) {
    posted += other.posted, sent += other.sent, delivered += other.delivered, failed += other.failed;
    duplicated += other.duplicated, payload_errors += other.payload_errors, bytes_delivered += other.bytes_delivered;
    bytes_local += other.bytes_local;
    return *this;
  }
};

/// Composed of parts: RunningOperations has what starts and what is sent; of an event MessageLocator says whose message
/// it is, and MessageArrivals whether somebody waits for it; OperationCauses, FirstFailures, WrongMessages and TieWatch
/// keep what is told of a run. Used by the engine shard's thread alone. After construction nothing allocates and
/// nothing throws.
class Communication {
 public:
  /// All but the options outlive it. Reduces in progress are entered into `timers`.
  Communication(const Workload& workload, const Plan& plan, const CommunicationOptions& options, const Shard& shard,
                TimerQueue& timers, RecordSink& sink);
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  /// As RunningOperations.
  void start(RankId rank, uint32_t node, uint32_t iteration, Time now) noexcept {
    operations_.start(rank, node, iteration, now);
  }
  void reduced(uint32_t slot, uint32_t step, Time at) noexcept { operations_.complete(slot, step, at); }
  /// Of a message that its source gives up both shards are to hear, that of the source and that of the destination.
  void handle(Time now, const Event& event) noexcept;

  /// Messages to be posted, oldest first.
  std::span<const Message> outgoing() const noexcept { return operations_.outgoing(); }
  void posted(size_t count) noexcept;

  /// Operations that ended since `clear_finished`.
  std::span<const FinishedOperation> finished() const noexcept { return operations_.finished(); }
  void clear_finished() noexcept { operations_.clear_finished(); }
  /// Tells the sink where the time of an operation that has just ended went, connection by connection. `place` is the
  /// node's in the record. Once an operation, before the next one starts in its slot.
  void record_causes(const FinishedOperation& operation, uint32_t place, uint32_t iteration) noexcept;

  /// All of the rank's operations of this iteration are over: its inbox can serve the iteration after the next.
  void end_iteration(RankId rank, uint32_t iteration) noexcept { arrivals_.end_iteration(rank, iteration); }

  /// What is handled from here on, up to the next call, happens at once.
  void begin_round() noexcept { ties_.begin_round(); }
  /// With `watch_ties`: as TieWatch.
  bool tied() const noexcept { return ties_.tied(); }

  /// As RunningOperations.
  uint32_t in_progress() const noexcept { return operations_.in_progress(); }
  const CommunicationCounters& counters() const noexcept { return counters_; }
  bool failed() const noexcept { return failures_.any(); }
  /// As FirstFailures.
  std::span<const Event> failures() const noexcept { return failures_.events(); }
  const Connection& connection(ConnectionId id) const noexcept { return plan_.transport.connections[id.value]; }
  /// The identity of an event's message in words, and the name of the operation that sends it.
  std::string message_text(const Event& event) const { return locator_.text(event); }
  std::string operation_name(const Event& event) const { return locator_.operation_name(event); }
  /// With `payload_keys`: messages delivered with a payload that is not theirs, by the name of the operation that
  /// received them.
  std::map<std::string, uint64_t> wrong_messages() const;
  /// The first failed message in words; empty when none failed.
  std::string failure_text() const;
  /// The first step of each operation in progress that waits for the network, at most `most`.
  std::vector<Waiting> waiting(size_t most) const { return operations_.waiting(most); }

 private:
  void on_sent(const Event& event) noexcept;
  void on_received(const Event& event) noexcept;
  void on_failed(const Event& event, Time now) noexcept;
  void give_up(const Event& event, const MessagePlace& place, Time now) noexcept;
  void end_send(const MessagePlace& place, Time at) noexcept;
  void end_receive(const MessagePlace& place, Time at) noexcept;
  void compare_payload(const Event& event, const MessagePlace& place) noexcept;
  void add_causes(const Event& event, const MessagePlace& place) noexcept;
  void record(const Event& event, const MessagePlace& place, Time first, Time last) noexcept;

  const Plan& plan_;
  const OnFailure on_failure_;
  const PayloadKeys payload_keys_;
  const Shard& shard_;
  RecordSink& sink_;
  MessageLocator locator_;
  MessageArrivals arrivals_;
  TieWatch ties_;
  OperationCauses causes_;  // where the sink wants them
  FirstFailures failures_;
  WrongMessages wrong_;  // where payload keys are compared
  RunningOperations operations_;
  CommunicationCounters counters_;
};

}  // namespace rankwire
