// Posts the messages of the background and takes what the transport reports of them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/histogram.h"
#include "base/message.h"
#include "base/units.h"
#include "emulator/engine/background_plan.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/shard.h"

namespace rankwire {

enum class BackgroundKeys : uint8_t { kIgnored, kCompared };

/// What became of the messages of one entry.
struct BackgroundCounters {
  uint64_t offered = 0, posted = 0, acknowledged = 0, delivered = 0, failed = 0;  ///< messages
  uint64_t bytes_offered = 0, bytes_posted = 0, bytes_delivered = 0;              ///< of their payload
  uint64_t payload_errors = 0;         ///< delivered with a payload that is not the message's
  uint64_t failed_flows = 0;           ///< which have stopped with their first message that failed
  Duration behind;                     ///< the longest that what was due had to wait for `advance`
  Time first_arrival = Time::never();  ///< of the first packet of a message that was delivered
  Time last_delivery = Time::long_ago();
  Histogram completion;  ///< of messages: from the post to the acknowledgement

  BackgroundCounters& operator+=(const BackgroundCounters& other);
};

/// The flows of one worker: those whose sources it has, and what arrives at the destinations that it has. When a flow
/// posts is a function of the seed and of when its messages are acknowledged. A message of an open loop that is due
/// while `limit` are outstanding is offered and not posted. Of flows that are due at once the lower one posts first.
/// Its worker's thread alone; nothing allocates after construction.
class BackgroundTraffic {
 public:
  /// All outlive it.
  BackgroundTraffic(const BackgroundPlan& background, const Plan& plan, const Shard& shard,
                    BackgroundKeys keys = BackgroundKeys::kIgnored);

  /// Makes messages of what is due at `now` or before, of so much at once that a loop in real time is not held up; the
  /// rest is due the next time.
  void advance(Time now) noexcept;
  /// Messages to be posted, oldest first; tell `posted` how many the transport took.
  std::span<const Message> outgoing() const noexcept { return std::span(outgoing_).subspan(taken_); }
  void posted(size_t count) noexcept;
  /// Takes the background's of the events, brings the others to the front, in their order, and returns their number.
  size_t take(Time now, std::span<Event> events) noexcept;
  /// So long nothing was to be posted: messages of open loops are due as much later, those that are due as well as all
  /// after them, with the bursts that they are in. Closed loops go on.
  void postpone(Duration by) noexcept;
  /// When a message is due next.
  Time next_event() const noexcept { return due_.empty() ? Time::never() : due_.front().first; }

  const BackgroundPlan& plan() const noexcept { return background_; }
  /// By entry.
  std::span<const BackgroundCounters> counters() const noexcept { return counters_; }

 private:
  static constexpr uint32_t kMostAtOnce = 256;  // messages that are due

  struct Flow {
    uint32_t next = 0;         ///< index of the next message
    uint32_t outstanding = 0;  ///< posted and not yet acknowledged
    bool failed = false;
    bool waits = false;  ///< in due_
    Duration active;     ///< open loop: what it has been on for when its next message is due
    Random random{0};    ///< for gaps, and for sizes of what is not posted
  };

  Time real_time(const BackgroundEntry& entry, Duration active) const noexcept;
  static Time next_on(const BackgroundEntry& entry, Time at) noexcept;
  Duration gap(const BackgroundEntry& entry, Flow& flow, Bytes bytes) const noexcept;
  void schedule(uint32_t flow, Time at) noexcept;
  void offer(uint32_t flow) noexcept;
  void refill(uint32_t flow, Time now) noexcept;
  void post(uint32_t flow, Bytes bytes) noexcept;
  void handle(Time now, const Event& event) noexcept;
  void receive(uint32_t flow, const Event& event) noexcept;

  const BackgroundPlan& background_;
  const Plan& plan_;
  const BackgroundKeys keys_;
  std::vector<Flow> flows_;
  std::vector<bool> own_;                       // by flow: its source is the worker's
  std::vector<std::pair<Time, uint32_t>> due_;  // a heap with the earliest on top
  std::vector<Message> outgoing_;
  size_t taken_ = 0;  // of outgoing_
  Duration postponed_;
  std::vector<BackgroundCounters> counters_;
};

}  // namespace rankwire
