// The messages that a transport has taken and not yet reported as sent.
#pragma once

#include <cassert>
#include <cstdint>
#include <new>
#include <vector>

#include "base/event.h"
#include "base/id.h"
#include "base/units.h"
#include "dataplane/protocol/queue_pair.h"

namespace rankwire {

/// A message at its source; of a READ: at the end that asks for it. Touched when a message is posted, starts, ends or
/// is acknowledged, and when its packets are sent again.
struct OutboundMessage {
  static constexpr uint32_t kNone = UINT32_MAX;

  // Set by whoever posts it.
  Time posted;
  uint64_t payload_key = 0;
  uint64_t remote_address = 0;  ///< WRITE, READ: where at the other end
  uint32_t rkey = 0;            ///< WRITE, READ
  uint32_t bytes = 0;           ///< 0 .. 2^31 - 1; of a READ at most kMaxReadPackets packets
  uint32_t immediate = 0;
  uint32_t queue_pair = 0;  ///< the poster's own, as the next two
  uint32_t index = 0;
  uint32_t context = 0;
  Verb verb = Verb::kWriteImmediate;
  bool solicited = false;  ///< SEND, WRITE with immediate: the last packet raises an event at the receiver

  // Kept by the requester.
  Failure failure = Failure::kNone;
  uint32_t packets = 1;
  uint32_t first_psn = 0;  ///< valid once first_tx is
  uint32_t sequence = 0;   ///< SSN, 24 bits (IBTA 9.7.7.2)
  uint32_t retransmissions = 0;
  uint32_t next = kNone;  ///< the message behind it in the list that holds it
  Time first_tx = Time::never();
  Time last_tx = Time::never();
  Time acked = Time::never();

  bool started() const { return first_tx != Time::never(); }
};

/// A fixed number of slots. No allocation after construction; one thread.
class MessagePool {
 public:
  explicit MessagePool(uint32_t capacity) : slots_(capacity), free_(capacity) {
    for (uint32_t i = 0; i < capacity; ++i) free_[i] = capacity - 1 - i;
    free_count_ = capacity;
  }

  /// A slot as newly constructed, or kNone when all are taken. It is filled in place: a message that is copied as soon
  /// as it is written costs as much again.
  uint32_t take() noexcept {
    if (free_count_ == 0) return OutboundMessage::kNone;
    const uint32_t slot = free_[--free_count_];
    // Default-initialised: OutboundMessage() would first fill the slot with zeros.
    ::new (static_cast<void*>(&slots_[slot])) OutboundMessage;
    return slot;
  }
  /// A slot with this message, or kNone.
  uint32_t put(const OutboundMessage& message) noexcept {
    const uint32_t slot = take();
    if (slot != OutboundMessage::kNone) slots_[slot] = message;
    return slot;
  }
  void give_back(uint32_t slot) noexcept {
    assert(free_count_ < free_.size());
    free_[free_count_++] = slot;
  }
  [[gnu::always_inline]] void prefetch(uint32_t slot) const noexcept {
    const auto* const begin = reinterpret_cast<const uint8_t*>(&slots_[slot]);
    __builtin_prefetch(begin, 1);
    __builtin_prefetch(begin + sizeof(OutboundMessage) - 1, 1);
  }
  uint32_t free_count() const { return free_count_; }
  OutboundMessage& operator[](uint32_t slot) { return slots_[slot]; }
  const OutboundMessage& operator[](uint32_t slot) const { return slots_[slot]; }

 private:
  std::vector<OutboundMessage> slots_;
  std::vector<uint32_t> free_;
  uint32_t free_count_ = 0;
};

/// A first-in first-out list threaded through the slots of a pool.
struct MessageList {
  uint32_t head = OutboundMessage::kNone;
  uint32_t tail = OutboundMessage::kNone;

  bool empty() const { return head == OutboundMessage::kNone; }
  void push_back(MessagePool& pool, uint32_t slot) noexcept {
    pool[slot].next = OutboundMessage::kNone;
    if (empty()) {
      head = slot;
    } else {
      pool[tail].next = slot;
    }
    tail = slot;
  }
  uint32_t pop_front(MessagePool& pool) noexcept {
    const uint32_t slot = head;
    head = pool[slot].next;
    if (empty()) tail = OutboundMessage::kNone;
    return slot;
  }
};

}  // namespace rankwire
