// The sending half of a Reliable Connection queue pair (IBTA 9.7, 9.9.2): a state machine without I/O, clock or
// allocation, driven by posted messages, acknowledgements, READ responses and the time.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/event.h"
#include "base/units.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

class StateStep;

/// What all requesters of a transport share. Messages that are done, well or badly, stand in `finished` in the order in
/// which they ended; whoever reports them gives their slots back.
struct RequesterPool {
  RequesterPool(const ReliableOptions& reliable, uint32_t capacity) : options(reliable), messages(capacity) {}

  const ReliableOptions options;
  MessagePool messages;
  MessageList finished;
};

/// Packets of one message to be sent now, one behind the other: alike but for their sequence numbers and, by `length`
/// each, the offset of their payload.
struct RequestRun {
  Opcode opcode = Opcode::kWriteOnlyImmediate;
  bool ack_request = false;
  bool solicited = false;
  bool retransmission = false;
  uint32_t count = 1;       ///< more only of SEND_MIDDLE and WRITE_MIDDLE without AckReq
  uint32_t psn = 0;         ///< of the first
  uint32_t message = 0;     ///< slot
  uint32_t offset = 0;      ///< of the first one's payload in the message; of a READ, of what it asks for
  uint32_t length = 0;      ///< of the payload of each; a READ request has none
  uint32_t dma_length = 0;  ///< where there is a RETH: bytes from `offset` to the end of the message
};

enum class AckOutcome : uint8_t {
  kProgress,    ///< acknowledges at least one packet
  kRewind,      ///< a sequence NAK or time-out: going back to the oldest unacknowledged packet
  kImpliedNak,  ///< shows that a READ response was lost (IBTA 9.7.5): going back to it
  kNotReady,    ///< an RNR NAK: going back to its PSN when the receiver's timer has run out
  kResumed,     ///< that timer has run out
  kFailed,      ///< the queue pair is in the error state, its messages in `finished`
  kStale,       ///< everything it says was known: late, repeated, or a NAK already answered
  kGhost,       ///< a PSN never sent, or a syndrome without meaning here; ignored
};

struct AckReception {
  AckOutcome outcome = AckOutcome::kGhost;
  /// From the sending of a packet with AckReq to the acknowledgement of just this packet, when it was sent once only
  /// (Karn's rule); max(): no measurement.
  Duration round_trip = Duration::max();
};

enum class ResponseOutcome : uint8_t {
  kAccepted,    ///< the payload that was missing next
  kDuplicate,   ///< had arrived before
  kImpliedNak,  ///< responses before it are missing: going back to the first of them
  kStale,       ///< the same, and already answered
  kFailed,      ///< as with AckOutcome
  kMalformed,   ///< not of the length or place in its message that was asked for; ignored
  kGhost,       ///< answers nothing that was asked; ignored
};

struct ReadReception {
  ResponseOutcome outcome = ResponseOutcome::kGhost;
  bool last = false;                          ///< kAccepted: the message is complete, and stands in `finished`
  uint32_t message = OutboundMessage::kNone;  ///< kAccepted: slot, valid until it is given back
  uint32_t offset = 0;                        ///< kAccepted: of the payload in the message
};

/// Sends messages in the order of posting. At most `window` packets are unacknowledged; a READ request counts as many
/// packets as its response has. AckReq is set on the last packet of a message, on one of every `ack_every`, and on the
/// packet that closes the window, so that whenever the requester stops, an answer is on its way or the timer runs.
///
/// Loss is repaired by going back: a sequence NAK with PSN p acknowledges what is before p and everything from p on is
/// sent again; a restart inside a SEND or WRITE goes on with its MIDDLE or LAST, a restart inside a READ asks for the
/// remainder. An acknowledgement never completes a READ: one beyond a READ whose responses are missing is an implied
/// NAK. What a NAK or implied NAK has started is not started again by others before there is progress or a time-out.
///
/// Credits (IBTA 9.7.7.2): unlimited until an ACK grants some. A message that consumes a receive and whose sequence
/// number (SSN) is behind the limit (LSN = MSN + credits) waits, but for the first behind it, of which one packet, for
/// a SEND the first, goes out as a probe.
///
/// Two cache lines; those packets that are neither first nor last in their message nor ask for an acknowledgement touch
/// only the first, and not their message.
class alignas(64) Requester {
 public:
  enum class State : uint8_t { kReady, kError };

  /// Why nothing can be sent, as bits; a full window apart.
  enum Hold : uint8_t {
    kNothingToSend = 1,
    kReceiverNotReady = 2,  ///< until `deadline`
    kReadsOutstanding = 4,  ///< max_reads
    kOutOfCredits = 8,
  };

  /// In the error state: what is posted is flushed.
  Requester() = default;
  explicit Requester(uint32_t first_psn)
      : unacked_(first_psn), next_(first_psn), end_(first_psn), state_(State::kReady) {}

  /// Queues the message in `slot` behind those posted before.
  void post(RequesterPool& pool, uint32_t slot) noexcept;

  bool can_send(const ReliableOptions& options) const noexcept { return holds_ == 0 && in_flight() < options.window; }
  /// What is to be sent next: at most `limit` packets, >= 1. Only when `can_send`.
  RequestRun next_run(const RequesterPool& pool, uint32_t limit) const noexcept;
  /// The leading packets of `next_run`, all or fewer, were sent at `now`.
  void sent(RequesterPool& pool, const RequestRun& run, Time now) noexcept;

  /// The short way for what most packets are: how many of the message that is next go out for the first time, and ask
  /// for an acknowledgement only if they end it; at most `limit`, 0 when something else is next. Not of messages of one
  /// packet, nor while credits are limited. They begin with `next_psn`.
  uint32_t new_packets(const ReliableOptions& options, uint32_t limit) const noexcept {
    if (holds_ != 0 || next_ != end_ || cursor_packets_ == 1 || cursor_middle_ == Opcode::kReadRequest ||
        credits_limited_)
      return 0;
    const uint32_t in_flight_already = in_flight();
    if (in_flight_already >= options.window) return 0;
    const uint32_t until_ack_request =
        std::min(options.ack_every - since_ack_request_, options.window - in_flight_already);
    const uint32_t left = packets_left();
    return std::min(limit, left <= until_ack_request ? left : until_ack_request - 1);
  }
  /// The packets of the message that is next, if `new_packets` are all of it and more than two; otherwise 0.
  uint32_t whole_message(const ReliableOptions& options) const noexcept {
    const bool is_whole = at_first() && cursor_packets_ > 2 && holds_ == 0 && next_ == end_ &&
                          cursor_middle_ != Opcode::kReadRequest && !credits_limited_ &&
                          in_flight() + cursor_packets_ <= options.window &&
                          since_ack_request_ + cursor_packets_ <= options.ack_every;
    return is_whole ? cursor_packets_ : 0;
  }
  /// How many of them are MIDDLEs, if the next one is.
  uint32_t new_middles(const ReliableOptions& options, uint32_t limit) const noexcept {
    return at_first() ? 0 : std::min(new_packets(options, limit), packets_left() - 1);
  }
  /// The same as the last look found it, less those sent since: never too many. 0: look again.
  uint32_t plain_packets() const noexcept { return plain_; }
  /// Looks again. Whether there are any.
  bool look_ahead(const ReliableOptions& options) noexcept {
    plain_ = new_middles(options, UINT32_MAX);
    return plain_ > 0;
  }
  void plain_packet_sent() noexcept {
    next_ = end_ = psn_add(next_, 1);
    ++cursor_packet_;
    ++since_ack_request_;
    --plain_;
  }
  void middles_sent(uint32_t count) noexcept {
    next_ = end_ = psn_add(next_, count);
    cursor_packet_ += count;
    since_ack_request_ += count;
    plain_ -= std::min(plain_, count);
  }
  /// Their opcode, first and last apart.
  Opcode middle_opcode() const noexcept { return cursor_middle_; }
  /// Of the message that is next, whether its first packet is, and how many packets are left.
  bool at_first() const noexcept { return cursor_packet_ == 0; }
  uint32_t packets_left() const noexcept { return cursor_packets_ - cursor_packet_; }
  /// The leading ones of them, at least one, were sent at `now`. Only the first and the last touch their message.
  void new_packets_sent(RequesterPool& pool, uint32_t count, Time now) noexcept {
    if (at_first()) start_message(pool.messages[cursor_], now);
    middles_sent(count);
    if (cursor_packet_ == cursor_packets_) end_message(pool, now);
  }
  /// The same of all packets of a message.
  void message_sent(RequesterPool& pool, Time now) noexcept {
    start_message(pool.messages[cursor_], now);
    next_ = end_ = psn_add(next_, cursor_packets_);
    end_message(pool, now);
  }

  AckReception acknowledge(RequesterPool& pool, Time now, const Acknowledgement& acknowledgement) noexcept;
  /// `packet` is a READ response.
  ReadReception respond(RequesterPool& pool, Time now, const ParsedPacket& packet) noexcept;

  /// When the requester does something by itself: the oldest packet whose acknowledgement was asked for counts as lost,
  /// one time-out after the request or the last progress, whichever is later; or the receiver's RNR timer has run out.
  /// never() while no answer is due. Not in order among queue pairs: time-outs in a row and RNR timers differ.
  Time deadline() const noexcept { return deadline_; }
  /// The deadline has passed: goes back (kRewind), gives up (kFailed) or ends the wait for the receiver (kResumed).
  AckOutcome expire(RequesterPool& pool) noexcept;

  /// Enters the error state: the oldest message fails with `failure`, all others, and those posted later, with `rest`.
  void fail(RequesterPool& pool, Failure failure, Failure rest = Failure::kFlushed) noexcept;

  State state() const noexcept { return state_; }
  uint8_t holds() const noexcept { return holds_; }
  uint32_t oldest_unacknowledged() const noexcept { return unacked_; }
  uint32_t next_psn() const noexcept { return next_; }
  uint32_t in_flight() const noexcept { return static_cast<uint32_t>(psn_distance(unacked_, next_)); }
  /// One behind the highest PSN ever sent.
  uint32_t end_psn() const noexcept { return end_; }
  /// Used of retry_count since the last progress.
  uint32_t retries() const noexcept { return retries_; }
  uint32_t not_ready_retries() const noexcept { return not_ready_retries_; }
  uint32_t reads_outstanding() const noexcept { return reads_; }
  /// ACKs that have come, whatever they said.
  uint64_t acks() const noexcept { return acks_; }
  bool idle() const noexcept { return messages_.empty(); }
  /// Slot of the message that the next packet is of, or kNone.
  uint32_t next_message() const noexcept { return cursor_; }
  /// Whether a message may end when all packets up to `psn` turn out to be acknowledged.
  bool may_end_message(const RequesterPool& pool, uint32_t psn) const noexcept {
    // One that is still being sent has packets beyond those that can be acknowledged.
    if (messages_.empty() || (messages_.head == cursor_ && next_ == end_)) return false;
    const OutboundMessage& oldest = pool.messages[messages_.head];
    return oldest.verb == Verb::kRead || psn_distance(psn_add(oldest.first_psn, oldest.packets), psn) >= -1;
  }
  /// Fetches the memory of the message that is being sent.
  [[gnu::always_inline]] void fetch(const RequesterPool& pool) const noexcept {
    if (cursor_ != OutboundMessage::kNone) __builtin_prefetch(&pool.messages[cursor_], 1);
  }
  /// Slot of the oldest message that is not finished, or kNone.
  uint32_t oldest_message() const noexcept { return messages_.head; }

 private:
  friend class StateStep;
  static constexpr uint32_t kNoSample = UINT32_MAX;

  void start_message(OutboundMessage& message, Time now) noexcept {
    message.first_tx = message.last_tx = now;
    message.first_psn = next_;
  }
  void end_message(RequesterPool& pool, Time now) noexcept;
  RequestRun boundary_run(const RequesterPool& pool, uint32_t until_ack_request) const noexcept;
  void boundary_sent(RequesterPool& pool, const RequestRun& run, Time now) noexcept;
  void ask_for_answer(const ReliableOptions& options, Time now) noexcept;
  void sample(uint32_t psn, Time now) noexcept;
  void arm(const ReliableOptions& options, Time now) noexcept;
  void load_cursor(const RequesterPool& pool, uint32_t slot, uint32_t packet) noexcept;
  void update_holds(const RequesterPool& pool) noexcept;
  bool is_beyond_credits(const RequesterPool& pool) const noexcept;
  bool may_probe(const RequesterPool& pool) const noexcept;
  void take_credits(const RequesterPool& pool, uint8_t syndrome, uint32_t msn) noexcept;
  AckOutcome negative(RequesterPool& pool, Time now, const Acknowledgement& nak) noexcept;
  AckOutcome wait_for_receiver(RequesterPool& pool, Time now, uint8_t code) noexcept;
  AckOutcome repair(RequesterPool& pool, AckOutcome outcome) noexcept;
  void rewind(const RequesterPool& pool) noexcept;
  bool answers_all(const RequesterPool& pool, const Acknowledgement& acknowledgement) const noexcept;
  AckReception finish_all(RequesterPool& pool, Time now) noexcept;
  [[gnu::noinline]] AckReception acknowledge_some(RequesterPool& pool, Time now,
                                                  const Acknowledgement& acknowledgement) noexcept;
  bool advance(RequesterPool& pool, Time now, uint32_t psn) noexcept;
  void finish_oldest(RequesterPool& pool, Time now) noexcept;
  void progress(RequesterPool& pool, Time now, uint32_t psn) noexcept;
  void seek(const RequesterPool& pool, uint32_t psn) noexcept;

  uint32_t unacked_ = 0;                      // oldest PSN that is not acknowledged
  uint32_t next_ = 0;                         // PSN of the next packet; behind end_ while packets are sent again
  uint32_t end_ = 0;                          // one behind the highest PSN ever sent
  uint32_t cursor_ = OutboundMessage::kNone;  // the message of the next packet
  uint32_t cursor_packet_ = 0;                // its position in that message
  uint32_t cursor_packets_ = 0;               // packets of that message
  uint32_t plain_ = 0;                        // new MIDDLEs of that message that are known to need no look
  uint32_t since_ack_request_ = 0;
  uint32_t ack_requested_ = 0;  // the last PSN whose answer was asked for since going back
  uint32_t sample_psn_ = kNoSample;
  Opcode cursor_middle_ = Opcode::kWriteMiddle;  // of that message; kReadRequest of a READ
  uint8_t holds_ = kNothingToSend;
  bool repairing_ : 1 = false;  // a NAK was answered, and there was no progress since
  bool credits_limited_ : 1 = false;
  State state_ = State::kError;
  uint32_t posted_ = 0;  // SSN of the message posted last
  Time deadline_ = Time::never();
  MessageList messages_;  // not finished, oldest first

  Time sample_sent_;
  uint32_t limit_ = 0;  // LSN, while credits are limited
  uint8_t retries_ = 0, timeouts_ = 0, not_ready_retries_ = 0;
  uint8_t reads_ = 0;                  // READs sent and not complete
  Failure later_ = Failure::kFlushed;  // of what is posted in the error state
  uint64_t acks_ = 0;                  // on a line that an acknowledgement changes anyway
};
static_assert(sizeof(Requester) == 128);

inline RequestRun Requester::next_run(const RequesterPool& pool, uint32_t limit) const noexcept {
  assert(can_send(pool.options));
  const ReliableOptions& options = pool.options;
  const uint32_t until_ack_request = std::min(options.ack_every - since_ack_request_, options.window - in_flight());
  const uint32_t left = cursor_packets_ - cursor_packet_;
  if (cursor_packet_ == 0 || left == 1 || until_ack_request == 1 || cursor_middle_ == Opcode::kReadRequest)
    return boundary_run(pool, until_ack_request);

  RequestRun run;
  run.opcode = cursor_middle_;
  run.psn = next_;
  run.message = cursor_;
  run.offset = cursor_packet_ * options.mtu;
  run.length = options.mtu;
  run.count = std::min({limit, left - 1, until_ack_request - 1});
  if (next_ != end_) {
    run.retransmission = true;
    run.count = std::min(run.count, static_cast<uint32_t>(psn_distance(next_, end_)));
  }
  return run;
}

inline void Requester::sent(RequesterPool& pool, const RequestRun& run, Time now) noexcept {
  if (run.opcode != cursor_middle_ || run.ack_request || run.retransmission || run.opcode == Opcode::kReadRequest)
    return boundary_sent(pool, run, now);
  new_packets_sent(pool, run.count, now);
}

inline void Requester::load_cursor(const RequesterPool& pool, uint32_t slot, uint32_t packet) noexcept {
  cursor_ = slot;
  cursor_packet_ = packet;
  if (slot != OutboundMessage::kNone) {
    cursor_packets_ = pool.messages[slot].packets;
    cursor_middle_ = opcodes_of(pool.messages[slot].verb).middle;
  }
  update_holds(pool);
}

// Finds anew what keeps the message of the next packet back, but for the receiver's timer. Nothing is plain any more.
inline void Requester::update_holds(const RequesterPool& pool) noexcept {
  holds_ &= kReceiverNotReady;
  plain_ = 0;
  if (cursor_ == OutboundMessage::kNone) {
    holds_ |= kNothingToSend;
    return;
  }
  if (cursor_middle_ == Opcode::kReadRequest && reads_ >= pool.options.max_reads) holds_ |= kReadsOutstanding;
  if (is_beyond_credits(pool) && !may_probe(pool)) holds_ |= kOutOfCredits;
}

// Whether the message of the next packet needs a receive that was not granted (IBTA 9.7.7.2.5).
inline bool Requester::is_beyond_credits(const RequesterPool& pool) const noexcept {
  if (!credits_limited_) return false;
  const OutboundMessage& message = pool.messages[cursor_];
  return consumes_receive(message.verb) && psn_distance(limit_, message.sequence) > 0;
}

inline void Requester::end_message(RequesterPool& pool, Time now) noexcept {
  OutboundMessage& message = pool.messages[cursor_];
  message.last_tx = now;
  ask_for_answer(pool.options, now);
  sample(ack_requested_, now);
  load_cursor(pool, message.next, 0);
}

inline void Requester::ask_for_answer(const ReliableOptions& options, Time now) noexcept {
  since_ack_request_ = 0;
  ack_requested_ = psn_add(next_, kPsnMask);
  if (deadline_ == Time::never()) arm(options, now);
}

inline void Requester::sample(uint32_t psn, Time now) noexcept {
  if (sample_psn_ != kNoSample) return;
  sample_psn_ = psn;
  sample_sent_ = now;
}

inline void Requester::arm(const ReliableOptions& options, Time now) noexcept {
  const Duration wait = timeouts_ < options.early.count ? options.early.waits[timeouts_] : options.timeout;
  deadline_ = wait == Duration::max() ? Time::never() : now + wait;
}

}  // namespace rankwire
