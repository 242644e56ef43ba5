// What a transport over RDMA NICs keeps of a queue pair and of what passes through it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/event.h"
#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/verbs/api.h"
#include "dataplane/verbs/memory.h"

namespace rankwire {

/// What one queue pair does for one message: one or several work requests.
struct VerbsRequest {
  enum class Purpose : uint8_t {
    kData,         ///< a data message or its part; `subject` is its Transfer
    kControl,      ///< the same of a control message
    kReadyToSend,  ///< makes an offer (see rendezvous.h); `subject` is the Offer
    kGet,          ///< takes it up; `subject` is the VerbsGet
    kGetFinished,  ///< says that what was offered has been fetched
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint64_t payload_key = 0;
  uint64_t address = 0;  ///< here
  uint64_t remote_address = 0;
  uint32_t remote_key = 0;
  uint32_t bytes = 0;
  uint32_t index = 0;
  uint32_t subject = 0;
  uint32_t offset = 0;                         ///< kData: of the part in its message
  uint32_t first_serial = 0, last_serial = 0;  ///< of its work requests, once posted
  uint32_t next = kNone;                       ///< in the list that holds it
  Purpose purpose = Purpose::kData;
};

/// First in, first out, threaded through a pool's slots.
struct RequestList {
  uint32_t head = VerbsRequest::kNone, tail = VerbsRequest::kNone;

  bool empty() const noexcept { return head == VerbsRequest::kNone; }
  void push(SlotPool<VerbsRequest>& pool, uint32_t slot) noexcept {
    pool[slot].next = VerbsRequest::kNone;
    (empty() ? head : pool[tail].next) = slot;
    tail = slot;
  }
  uint32_t pop(SlotPool<VerbsRequest>& pool) noexcept {
    const uint32_t slot = head;
    head = pool[slot].next;
    return slot;
  }
};

/// A message, or its part, that the destination fetches.
struct VerbsGet {
  uint32_t cookie = 0;
  uint64_t place = 0;  ///< checking mode: where the data are fetched to
};

/// Where a queue pair's receives come from: a queue of its own, or one that several share.
struct ReceivePool {
  static constexpr uint32_t kNone = UINT32_MAX;

  VerbsReceiveQueue* queue = nullptr;
  uint32_t device = 0;
  uint32_t end = kNone;            ///< whose queue it is; kNone: shared
  MessageSlots buffers;            ///< by receive
  uint32_t buffer_bytes = 0;       ///< 0: receives have no memory
  std::vector<uint32_t> unposted;  ///< receives to be posted; has room for all
  uint32_t depth = 0;
};

/// The end of a queue pair that stands here.
struct VerbsEnd {
  static constexpr uint32_t kNone = UINT32_MAX;
  enum class State : uint8_t {
    kUnconnected,
    kOpen,
    kUnreachable,
    kFailed,
    kAbandoned,  ///< failed, and its completions mean nothing any more
  };

  ConnectionId connection;         ///< whose end point it is
  ConnectionId outbound, inbound;  ///< whose messages it sends and receives; invalid: none
  uint16_t member = 0;
  bool at_source = false;  ///< of `connection`
  State state = State::kUnconnected;
  uint32_t device = 0;
  uint32_t receive_pool = kNone;
  uint32_t gid_index = 0;
  uint32_t number = 0;  ///< of its queue pair
  std::unique_ptr<VerbsQueuePair> queue_pair;
  EndPoint remote;

  // Sending. Serials count the queue pair's work requests.
  RequestList waiting;                                  ///< not wholly posted
  RequestList posted;                                   ///< not completed
  uint32_t head_work = 0;                               ///< work requests of the first that waits that have been posted
  uint32_t next_serial = 0;                             ///< of the next work request
  uint32_t done_serial = 0;                             ///< before which all have completed
  uint32_t since_signalled = 0;                         ///< work requests
  uint64_t written = 0;                                 ///< messages to the peer's memory
  MessageSlots staging;                                 ///< checking mode: payloads on their way
  uint64_t staged = 0, freed = 0;                       ///< how many
  uint32_t oldest_offer = kNone, newest_offer = kNone;  ///< which the peer has not said to have fetched

  // Receiving.
  MessageSlots landings;               ///< checking mode: where what is fetched arrives
  uint64_t fetching = 0, fetched = 0;  ///< how many READs have begun, and ended
  MessageSlots inbox;                  ///< where the peer writes
  uint64_t received = 0;               ///< messages, each with its place in the inbox
  std::vector<uint32_t> held;          ///< receives of parts whose messages are not complete; has room for all
  uint32_t looks = 0;                  ///< at a control message that may not be there wholly
  bool receives_flushed = false;       ///< nothing more will be received

  uint64_t messages = 0, bytes = 0;  ///< of what it sent

  // Why it failed.
  WorkStatus status = WorkStatus::kSuccess;
  uint32_t vendor_error = 0;
  uint32_t failed_index = 0;           ///< message
  bool failed_receiving = false;       ///< then `failed_index` means nothing
  const char* device_error = nullptr;  ///< what the device said of it or refused; of static lifetime; null: nothing

  uint32_t outstanding() const noexcept { return next_serial - done_serial; }
  bool to_blame() const noexcept { return status != WorkStatus::kSuccess || device_error != nullptr; }
  /// Of messages that were not the first to fail.
  Failure flushed() const noexcept { return device_error != nullptr ? Failure::kDevice : Failure::kFlushed; }
};

}  // namespace rankwire
