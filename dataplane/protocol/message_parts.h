// What transports keep of messages that travel in parts, and what they tell of them, whoever carries the parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/event.h"
#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "dataplane/protocol/message_assembly.h"

namespace rankwire {

/// Of a connection.
enum class Side : uint8_t { kSource, kDestination };

/// The longest control message (Connection::control), bytes.
constexpr uint32_t kMaxControlBytes = 256;
/// In front of what a control message carries: its index and as many zeros.
constexpr uint32_t kControlHeader = 8;

/// A fixed number of `T`s. No allocation after construction; one thread.
template <class T>
class SlotPool {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit SlotPool(uint32_t capacity = 0) : slots_(capacity), free_(capacity) {
    for (uint32_t i = 0; i < capacity; ++i) free_[i] = capacity - 1 - i;
  }
  /// A slot as newly constructed, or kNone when all are taken.
  uint32_t take() noexcept {
    if (taken_ == slots_.size()) return kNone;
    const uint32_t slot = free_[slots_.size() - 1 - taken_++];
    slots_[slot] = T();
    return slot;
  }
  void give_back(uint32_t slot) noexcept { free_[slots_.size() - taken_--] = slot; }
  size_t size() const noexcept { return slots_.size(); }
  bool any_taken() const noexcept { return taken_ > 0; }
  bool full() const noexcept { return taken_ == slots_.size(); }
  T& operator[](uint32_t slot) noexcept { return slots_[slot]; }
  const T& operator[](uint32_t slot) const noexcept { return slots_[slot]; }

 private:
  std::vector<T> slots_;
  std::vector<uint32_t> free_;
  uint32_t taken_ = 0;
};

/// A message at its source that consists of several requests.
struct Transfer {
  Time posted;
  Time first_tx = Time::never(), last_tx = Time::long_ago(), acked = Time::long_ago();
  ConnectionId connection;
  uint32_t index = 0;
  uint32_t bytes = 0;
  uint32_t retransmissions = 0;
  uint32_t outstanding = 0;  ///< requests not finished, and offers not closed
  Failure failure = Failure::kNone;

  /// The first cause counts: what is flushed has another.
  void fail(Failure why) noexcept {
    if (failure == Failure::kNone || (failure == Failure::kFlushed && why != Failure::kNone)) failure = why;
  }
};

/// A message, or its part, that the destination is to fetch. It is closed when the request that makes it has finished
/// and the peer has said that it has fetched everything.
struct Offer {
  uint64_t payload_key = 0;
  Time last_tx = Time::long_ago();  ///< of its READ responses
  uint32_t transfer = 0;
  uint32_t index = 0;
  uint32_t bytes = 0;
  uint32_t next = UINT32_MAX;  ///< on the same queue pair
  uint32_t open = 2;           ///< of the two conditions
};

/// One of an offer's two conditions has come true, or will not. Returns the transfer of which a part has ended thereby
/// and gives the offer back, or SlotPool<Transfer>::kNone.
inline uint32_t close_offer(SlotPool<Offer>& offers, uint32_t offer, SlotPool<Transfer>& transfers,
                            Failure failure) noexcept {
  Offer& closing = offers[offer];
  Transfer& whole = transfers[closing.transfer];
  whole.fail(failure);
  if (--closing.open > 0) return SlotPool<Transfer>::kNone;
  whole.last_tx = std::max(whole.last_tx, closing.last_tx);
  offers.give_back(offer);
  return closing.transfer;
}

/// The messages of a reverse connection (Connection::reverse_of) travel on the queue pairs of the other, the other way.
/// `Ends` names the first of a connection's queue pairs at its source and at its destination, where they are here.
template <class Ends>
void turn_ends(const Connection& reverse, std::vector<Ends>& connections) {
  if (reverse.path == Path::kLocal || !reverse.reverse_of.valid()) return;
  const Ends& shared = connections[reverse.reverse_of.value];
  Ends& own = connections[reverse.id.value];
  own.source = shared.destination;
  own.destination = shared.source;
}

/// The same, told to the ends of its `queue_pairs`.
template <class Ends, class End>
void share_ends(const Connection& reverse, std::vector<Ends>& connections, std::vector<End>& ends,
                uint32_t queue_pairs) {
  if (reverse.path == Path::kLocal || !reverse.reverse_of.valid()) return;
  turn_ends(reverse, connections);
  const Ends& own = connections[reverse.id.value];
  for (uint32_t member = 0; member < queue_pairs; ++member) {
    if (own.source != End::kNone) ends[own.source + member].outbound = reverse.id;
    if (own.destination != End::kNone) ends[own.destination + member].inbound = reverse.id;
  }
}

/// At the destination. In checking mode a payload that was not what it must be is told by the complement of its key.
inline Event received_event(ConnectionId connection, uint32_t index, const ReceivedPart& message) noexcept {
  Event event;
  event.kind = message.failure == Failure::kNone ? EventKind::kReceived : EventKind::kFailed;
  event.failure = message.failure;
  event.at_source = false;
  event.connection = connection;
  event.index = index;
  event.bytes = Bytes(static_cast<int64_t>(message.bytes));
  event.received = {.first_rx = message.first_rx,
                    .delivered = message.failure == Failure::kNone ? message.delivered : Time::never(),
                    .payload_key = message.payload_good ? message.key : ~message.key,
                    .marks = message.marks};
  return event;
}

}  // namespace rankwire
