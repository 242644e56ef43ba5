// The receiving half of a Reliable Connection queue pair (IBTA 9.7.4, 9.7.5, 9.9.3): a state machine without I/O, clock
// or allocation.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/protocol/queue_pair.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

class StateStep;

/// The memory that the peer may write and read. Nothing is stored there: the addresses are checked as a NIC checks
/// them.
struct MemoryRegion {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t rkey = 0;
  bool remote_write = true;
  bool remote_read = true;
};

enum class Arrival : uint8_t {
  kAccepted,   ///< in order and good
  kDuplicate,  ///< behind the expected PSN: dropped and acknowledged again, a READ answered again
  kGap,        ///< ahead of the expected PSN, the first such: dropped, a NAK goes out
  kAhead,      ///< ahead of the expected PSN after a NAK: dropped
  kNotReady,   ///< in order, and no receive is posted for it: dropped, an RNR NAK goes out
  kRefused,    ///< a protocol error: a NAK goes out, the queue pair is in the error state
  kDropped,    ///< the queue pair is in the error state
};

struct Reception {
  Arrival arrival = Arrival::kDropped;
  Verb verb = Verb::kWrite;    ///< kAccepted; with immediate only in the message's last packet
  bool first = false;          ///< kAccepted: the message's first packet
  bool last = false;           ///< kAccepted: the message is complete. A READ request is both.
  uint32_t offset = 0;         ///< kAccepted: of the payload in the message
  uint32_t message_bytes = 0;  ///< kAccepted: the whole message; of a SEND only in its last packet
  uint32_t immediate = 0;      ///< kAccepted and last, of a verb that has one
  uint64_t region_offset = 0;  ///< kAccepted: where in the region a WRITE or READ begins
};

/// A READ that a responder has accepted and remembers, to answer it again when it is repeated. Positions are packets of
/// the whole response.
struct ReadResource {
  uint64_t region_offset = 0;
  uint32_t first_psn = 0;
  uint32_t bytes = 0;
  uint32_t msn = 0;
  uint32_t next = 0;          ///< the packet to be sent next
  uint32_t end = 0;           ///< bytes of the message up to which it was asked for last
  uint32_t begin : 30 = 0;    ///< the packet from which it was asked for last
  uint32_t pending : 1 = 0;   ///< packets are to be sent
  uint32_t answered : 1 = 0;  ///< all were sent at least once
};
static_assert(sizeof(ReadResource) == 32);

/// Packets of a READ response to be sent now, one behind the other, as with RequestRun.
struct ResponseRun {
  Opcode opcode = Opcode::kReadResponseOnly;
  uint8_t syndrome = static_cast<uint8_t>(Syndrome::kAck);  ///< AETH, but for MIDDLE
  uint32_t count = 1;                                       ///< more only of MIDDLE
  uint32_t psn = 0;                                         ///< of the first
  uint32_t msn = 0;                                         ///< AETH, but for MIDDLE
  uint64_t region_offset = 0;                               ///< of the READ's begin
  uint32_t offset = 0;                                      ///< of the first one's payload behind that
  uint32_t length = 0;                                      ///< of the payload of each
};

/// What a responder has of its own.
struct ResponderResources {
  static constexpr uint32_t kUnlimited = UINT32_MAX;
  static constexpr uint32_t kMaxReads = 128;

  std::span<ReadResource> reads = {};  ///< at most kMaxReads, borrowed; none: READs are refused
  uint32_t receives = kUnlimited;      ///< posted; kUnlimited: SENDs and immediates always find one
  bool grants_credits = false;         ///< ACKs say how many receives there are, when they are limited
};

/// Takes packets in the order of their PSN only. A gap or a missing receive is answered by one NAK, which the next
/// packet in order arms again; a packet with AckReq and a duplicate by an ACK of the newest packet in order, so that a
/// lost ACK is made good by the sender's repetition. Answers are owed, not sent, so that several packets can share one:
/// `reply_due` says when no more may. What is owed behind a READ waits for the last packet of its response; what is
/// owed before it travels in its first.
///
/// A request is judged in this order: PSN, order of opcodes, permission, receive, length, key and range. One cache
/// line.
class alignas(64) Responder {
 public:
  enum class State : uint8_t { kReady, kError };

  /// In the error state: drops everything.
  Responder() = default;
  Responder(uint32_t first_psn, const MemoryRegion& region, const ResponderResources& resources = {}) noexcept;

  /// `packet` is a request: anything but an acknowledgement, READ response or CNP.
  Reception receive(const ResponderOptions& options, const ParsedPacket& packet) noexcept;
  /// The short way for what most packets are: how many full WRITE_MIDDLEs without AckReq, the first of which has this
  /// PSN, are the next packets of the message in progress, and not its last.
  uint32_t expected_middles(const ResponderOptions& options, uint32_t psn) const noexcept {
    if (psn != expected_ || progress_ != Progress::kInWrite || faulty_) return 0;
    return packets_of(remaining_, options.mtu) - 1;
  }
  /// So many of them, or fewer, have arrived.
  void take_middles(const ResponderOptions& options, uint32_t count) noexcept {
    received_ += options.mtu * count;
    remaining_ -= options.mtu * count;
    expected_ = psn_add(expected_, count);
    nak_outstanding_ = false;
    // It asks for what has just arrived: say so instead.
    if (owes_nak()) owed_ = kAck;
  }
  /// Receives for `count` more SENDs or immediates, when they are limited.
  void post_receives(uint32_t count) noexcept;
  /// Requests cannot be served any more: the next is answered by a NAK (remote operational error), and the queue pair
  /// is then in the error state.
  void fault() noexcept { faulty_ = true; }

  bool reply_owed() const noexcept { return owed_ != kNothing && active_ == kNoRead; }
  /// An answer is owed and must be taken before the next request is received.
  bool reply_due(const ResponderOptions& options) const noexcept {
    return reply_owed() && merged_ >= options.requests_per_ack;
  }
  /// The answer as things stand now. Only when `reply_owed`.
  Acknowledgement take_reply() noexcept;

  /// Packets of READ responses are to be sent. They go before any reply.
  bool response_pending() const noexcept { return active_ != kNoRead; }
  /// At most `limit` packets, >= 1. Only when `response_pending`.
  ResponseRun next_response(const ResponderOptions& options, uint32_t limit) const noexcept;
  /// The leading packets of `next_response`, all or fewer, were sent.
  void responded(const ResponseRun& run) noexcept;

  State state() const noexcept { return progress_ == Progress::kError ? State::kError : State::kReady; }
  uint32_t expected_psn() const noexcept { return expected_; }
  /// Messages completed, modulo 2^24.
  uint32_t msn() const noexcept { return msn_; }
  /// Posted and not used, or ResponderResources::kUnlimited.
  uint32_t receives() const noexcept { return receives_; }

 private:
  friend class StateStep;
  enum class Progress : uint8_t { kError, kBetweenMessages, kInSend, kInWrite };
  static constexpr uint8_t kNothing = 0xFF;  // no syndrome
  static constexpr uint8_t kAck = static_cast<uint8_t>(Syndrome::kAck);
  static constexpr uint8_t kNoRead = 0xFF;

  Reception receive_other(const ResponderOptions& options, const ParsedPacket& packet) noexcept;
  Reception accept_read(const ResponderOptions& options, const ParsedPacket& packet) noexcept;
  Reception early() noexcept;
  Reception repeated(const ResponderOptions& options, const ParsedPacket& packet) noexcept;
  void repeat_read(const ResponderOptions& options, const ParsedPacket& packet) noexcept;
  Reception not_ready(const ResponderOptions& options) noexcept;
  Reception refuse(Syndrome syndrome) noexcept;
  bool permits(Verb verb) const noexcept;
  bool reaches(const ParsedPacket& packet) const noexcept;
  uint8_t read_index(uint32_t age) const noexcept;
  void activate_oldest_read() noexcept;
  void take(const ParsedPacket& packet) noexcept;
  bool owes_nak() const noexcept { return owed_ != kNothing && owed_ != kAck; }
  void owe_ack() noexcept;
  void owe_nak(uint8_t syndrome) noexcept;
  uint8_t ack_syndrome() const noexcept;

  uint64_t address_ = 0, region_bytes_ = 0;
  uint64_t region_offset_ = 0;     // of the WRITE in progress
  ReadResource* reads_ = nullptr;  // a ring of the newest `stored_` READs
  uint32_t rkey_ = 0;
  uint32_t expected_ = 0;
  uint32_t msn_ = 0;
  uint32_t received_ = 0;   // bytes of the message in progress
  uint32_t remaining_ = 0;  // of a WRITE in progress
  uint32_t receives_ = ResponderResources::kUnlimited;
  uint8_t read_capacity_ = 0, newest_ = 0, stored_ = 0;
  uint8_t active_ = kNoRead;  // the oldest READ whose response is to be sent
  Progress progress_ = Progress::kError;
  uint8_t owed_ = kNothing;  // the syndrome of the answer; an ACK gets its credits when it is taken
  uint8_t merged_ = 0;       // requests for an answer that the one owed settles
  bool nak_outstanding_ : 1 = false;
  bool remote_write_ : 1 = false, remote_read_ : 1 = false;
  bool grants_credits_ : 1 = false;
  bool faulty_ : 1 = false;
};
static_assert(sizeof(Responder) == 64);

inline void Responder::owe_ack() noexcept {
  owed_ = kAck;
  if (merged_ < UINT8_MAX) ++merged_;
}

// `packet` is in order and good.
inline void Responder::take(const ParsedPacket& packet) noexcept {
  expected_ = psn_add(expected_, 1);
  nak_outstanding_ = false;
  if (packet.ack_request) {
    owe_ack();
  } else if (owes_nak()) {
    // It asks for what has just arrived: say so instead.
    owed_ = kAck;
  }
}

inline Reception Responder::receive(const ResponderOptions& options, const ParsedPacket& packet) noexcept {
  if (packet.opcode != Opcode::kWriteMiddle || packet.payload_length != options.mtu || packet.pad != 0 ||
      packet.ack_request || expected_middles(options, packet.psn) == 0)
    return receive_other(options, packet);
  Reception reception;
  reception.arrival = Arrival::kAccepted;
  reception.offset = received_;
  reception.message_bytes = received_ + remaining_;
  reception.region_offset = region_offset_;
  take_middles(options, 1);
  return reception;
}

}  // namespace rankwire
