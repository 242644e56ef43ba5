// The destination's side of messages that are split over several queue pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/event.h"
#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// What a queue pair has received: a whole message, or its part of one.
struct ReceivedPart {
  Time first_rx = Time::never();      ///< arrival of the first packet
  Time delivered = Time::long_ago();  ///< arrival of the last packet
  uint64_t bytes = 0;                 ///< of payload
  uint64_t marks = 0;                 ///< packets that arrived with ECN CE
  uint64_t key = 0;                   ///< checking mode: the first min(8, bytes) bytes, zero-extended
  bool payload_good = true;           ///< checking mode: all that follows agrees with the key
  Failure failure = Failure::kNone;   ///< why it could not be fetched
};

/// Messages of which some parts have arrived and others not. Memory is taken at construction; all operations take
/// constant time on average. One thread.
class MessageAssembly {
 public:
  /// For at most `capacity` messages at a time, 0 .. 2^30 - 1.
  explicit MessageAssembly(uint32_t capacity);

  /// Whether the next part of this message can be added: one of its parts has arrived, or there is room for another
  /// message.
  bool admits(ConnectionId connection, uint32_t index) const noexcept;
  /// Makes room for a message whose parts will be added, only when it `admits` it.
  void open(ConnectionId connection, uint32_t index, uint32_t parts) noexcept;
  /// Adds one of the message's `parts` parts, only when `admits`. What has arrived of the message so far, and how many
  /// parts are missing; with the last of them the message is forgotten.
  struct Progress {
    ReceivedPart message;
    uint32_t missing = 0;
  };
  Progress add(ConnectionId connection, uint32_t index, uint32_t parts, const ReceivedPart& part) noexcept;

  /// Forgets the messages of a connection: no more of their parts will come. Takes time with the capacity.
  void forget(ConnectionId connection) noexcept;

  uint32_t size() const noexcept { return size_; }

 private:
  struct Entry {
    ConnectionId connection;  // invalid: free
    uint32_t index = 0;
    Progress progress;
  };

  uint32_t home(ConnectionId connection, uint32_t index) const noexcept;
  uint32_t find(ConnectionId connection, uint32_t index) const noexcept;
  uint32_t place_of(ConnectionId connection, uint32_t index, uint32_t parts) noexcept;
  void erase(uint32_t place) noexcept;

  uint32_t capacity_;
  uint32_t size_ = 0;
  uint32_t mask_;
  std::vector<Entry> entries_;  // linear probing, at most half full
};

}  // namespace rankwire
