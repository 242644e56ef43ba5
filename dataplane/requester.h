// The sending half of a Reliable Connection queue pair (IBTA 9.7, 9.9.2): a state machine without I/O, clock or
// allocation, driven by posted messages, acknowledgements and the time.
#pragma once

#include <cstdint>

#include "base/event.h"
#include "base/units.h"
#include "dataplane/headers.h"
#include "dataplane/message_pool.h"
#include "dataplane/packet.h"
#include "dataplane/queue_pair.h"

namespace rankwire {

/// What all requesters of a transport share. Messages that are done, well or badly, stand in `finished` in the order in
/// which they ended; whoever reports them gives their slots back.
struct RequesterPool {
  RequesterPool(const ReliableOptions& reliable, uint32_t capacity) : options(reliable), messages(capacity) {}

  const ReliableOptions options;
  MessagePool messages;
  MessageList finished;
};

/// Data packets of one message to be sent now, one behind the other: alike but for their sequence numbers and, by
/// `length` each, the offset of their payload.
struct RequestRun {
  Opcode opcode = Opcode::kWriteOnlyImmediate;
  bool ack_request = false;
  bool retransmission = false;
  uint32_t count = 1;    ///< more only of kWriteMiddle without AckReq
  uint32_t psn = 0;      ///< of the first
  uint32_t message = 0;  ///< slot
  uint32_t offset = 0;   ///< of the first one's payload in the message
  uint32_t length = 0;   ///< of the payload of each
};

enum class AckOutcome : uint8_t {
  kProgress,  ///< acknowledges at least one packet
  kRewind,    ///< a sequence NAK: going back to its PSN
  kFailed,    ///< the queue pair is in the error state, its messages in `finished`
  kStale,     ///< everything it says was known: a late or repeated ACK, or a NAK already answered
  kGhost,     ///< a PSN never sent, or a syndrome without meaning here; ignored
};

/// Each message is one RDMA WRITE with the message's index as immediate in its last packet. At most `window` packets
/// are unacknowledged. AckReq is set on the last packet of a message, on one of every `ack_every`, and on the packet
/// that closes the window, so that whenever the requester stops, an acknowledgement is on its way or the timer runs.
///
/// Loss is repaired by going back: a sequence NAK with PSN p acknowledges what is before p and everything from p on is
/// sent again; a restart inside a message does not repeat the RETH. One cache line.
class alignas(64) Requester {
 public:
  enum class State : uint8_t { kReady, kError };

  /// In the error state: what is posted is flushed.
  Requester() = default;
  explicit Requester(uint32_t first_psn)
      : unacked_(first_psn), next_(first_psn), end_(first_psn), state_(State::kReady) {}

  /// Queues the message in `slot` behind those posted before.
  void post(RequesterPool& pool, uint32_t slot) noexcept;

  bool can_send(const ReliableOptions& options) const noexcept {
    return cursor_ != OutboundMessage::kNone && in_flight() < options.window;
  }
  /// What is to be sent next: at most `limit` packets, >= 1. Only when `can_send`.
  RequestRun next_run(const RequesterPool& pool, uint32_t limit) const noexcept;
  /// The leading packets of `next_run`, all or fewer, were sent at `now`.
  void sent(RequesterPool& pool, const RequestRun& run, Time now) noexcept;

  AckOutcome acknowledge(RequesterPool& pool, Time now, const Acknowledgement& acknowledgement) noexcept;

  /// When the oldest packet whose acknowledgement was asked for counts as lost: one time-out after the request or the
  /// last progress, whichever is later. never() while no acknowledgement is due.
  Time deadline() const noexcept { return deadline_; }
  /// The deadline has passed: goes back to the oldest unacknowledged packet (kRewind), or gives up (kFailed).
  AckOutcome expire(RequesterPool& pool) noexcept;

  State state() const noexcept { return state_; }
  uint32_t oldest_unacknowledged() const noexcept { return unacked_; }
  uint32_t next_psn() const noexcept { return next_; }
  uint32_t in_flight() const noexcept { return static_cast<uint32_t>(psn_distance(unacked_, next_)); }
  uint32_t retries() const noexcept { return retries_; }
  bool idle() const noexcept { return messages_.empty(); }
  /// Slot of the message that the next packet is of, or kNone.
  uint32_t next_message() const noexcept { return cursor_; }
  /// Slot of the oldest message that is not finished, or kNone.
  uint32_t oldest_message() const noexcept { return messages_.head; }

 private:
  void advance(RequesterPool& pool, Time now, uint32_t psn) noexcept;
  void seek(const RequesterPool& pool, uint32_t psn) noexcept;
  AckOutcome sequence_nak(RequesterPool& pool, Time now, uint32_t psn) noexcept;
  AckOutcome retry_from(RequesterPool& pool, uint32_t psn) noexcept;
  void fail(RequesterPool& pool, Failure failure) noexcept;

  uint32_t unacked_ = 0;        // oldest PSN that is not acknowledged
  uint32_t next_ = 0;           // PSN of the next packet; behind end_ while packets are sent again
  uint32_t end_ = 0;            // one behind the highest PSN ever sent
  uint32_t ack_requested_ = 0;  // the last PSN sent with AckReq since going back
  uint32_t since_ack_request_ = 0;
  uint32_t nak_psn_ = 0;                      // the NAK that was answered last, while answered_nak_
  uint32_t cursor_ = OutboundMessage::kNone;  // the message of the next packet
  uint32_t cursor_packet_ = 0;                // its position in that message
  MessageList messages_;                      // not finished, oldest first
  Time deadline_ = Time::never();
  uint8_t retries_ = 0;
  bool answered_nak_ = false;
  State state_ = State::kError;
};
static_assert(sizeof(Requester) == 64);

}  // namespace rankwire
