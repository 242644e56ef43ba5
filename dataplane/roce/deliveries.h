// Messages that have arrived, and that the application has not heard of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/event.h"
#include "base/spsc_ring.h"
#include "dataplane/protocol/message_assembly.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/roce_counters.h"

namespace rankwire {

/// Puts the parts of messages together that travel on several queue pairs, and keeps the events of whole messages until
/// the application takes them; then the receives that they consumed are posted again. A message for which there is no
/// `room` must not come. What it is made from is borrowed. No allocation after construction; one thread.
class Deliveries {
 public:
  /// `assembled`: messages of which some parts have arrived, at a time.
  Deliveries(const RoceOptions& options, QueuePairs& pairs, RoceCounters& counters, uint32_t assembled)
      : options_(options), pairs_(pairs), counters_(counters), assembly_(assembled), waiting_(kMost) {}

  /// For so many more events there is room.
  size_t room() const noexcept { return waiting_.capacity() - waiting_.size(); }
  bool any() const noexcept { return waiting_.size() > 0; }

  /// Whether the next part of this message finds memory.
  bool admits(ConnectionId connection, uint32_t index) const noexcept {
    return !pairs_.is_split(pairs_.connections[connection.value]) || assembly_.admits(connection, index);
  }
  /// Takes it for a message whose parts come later. Only when it is admitted.
  void open(ConnectionId connection, uint32_t index) noexcept;
  /// A queue pair has failed, so that no more parts come of its connection's messages.
  void forget(ConnectionId connection) noexcept { assembly_.forget(connection); }

  /// The queue pair has received its part, or all, of a message of its inbound connection, for which it consumed
  /// `receives` receives, 0 or 1.
  void deliver(uint32_t queue_pair, uint32_t index, const ReceivedPart& part, uint32_t receives) noexcept;
  /// The same; with its last part the message's event is the caller's.
  std::optional<Event> complete(uint32_t queue_pair, uint32_t index, const ReceivedPart& part) noexcept;
  /// What names no message, and is counted by the queue pair.
  void deliver_unindexed(uint32_t queue_pair, uint32_t index, const ReceivedPart& part, uint32_t receives) noexcept;

  /// The application takes events, the oldest first: how many.
  size_t take(std::span<Event> events) noexcept;

 private:
  static constexpr size_t kMost = 1024;

  const RoceOptions& options_;
  QueuePairs& pairs_;
  RoceCounters& counters_;
  MessageAssembly assembly_;
  SpscRing<Delivery> waiting_;
};

}  // namespace rankwire
