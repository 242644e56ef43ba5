// The receiving half of a Reliable Connection queue pair for RDMA WRITE (IBTA 9.7.4, 9.7.5, 9.9.3): a state machine
// without I/O, clock or allocation.
#pragma once

#include <cstdint>

#include "dataplane/headers.h"
#include "dataplane/packet.h"
#include "dataplane/queue_pair.h"

namespace rankwire {

/// The memory that the peer may write. Nothing is stored there: the addresses are checked as a NIC checks them.
struct MemoryRegion {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t rkey = 0;
};

enum class Arrival : uint8_t {
  kAccepted,   ///< in order and good
  kDuplicate,  ///< behind the expected PSN: dropped, and acknowledged again
  kGap,        ///< ahead of the expected PSN, the first such: dropped, a NAK goes out
  kAhead,      ///< ahead of the expected PSN after a NAK: dropped
  kRefused,    ///< a protocol error: a NAK goes out, the queue pair is in the error state
  kDropped,    ///< the queue pair is in the error state
};

struct Reception {
  Arrival arrival = Arrival::kDropped;
  uint32_t offset = 0;         ///< kAccepted: of the payload in the message
  uint32_t message_bytes = 0;  ///< kAccepted: the whole message
  bool first = false;          ///< kAccepted: the message's first packet
  bool last = false;           ///< kAccepted: the message is complete
};

/// Takes packets in the order of their PSN only. A gap is answered by one NAK, which the next packet in order arms
/// again; a packet with AckReq and a duplicate by an ACK of the newest packet in order, so that a lost ACK is made good
/// by the sender's repetition. Answers are owed, not sent: several packets of a batch share one. One cache line.
class alignas(64) Responder {
 public:
  enum class State : uint8_t { kReady, kError };

  /// In the error state: drops everything.
  Responder() = default;
  Responder(uint32_t first_psn, const MemoryRegion& region)
      : region_(region), expected_(first_psn), state_(State::kReady) {}

  /// `packet` is a request: anything but an acknowledgement or CNP. `mtu` is the path MTU in bytes.
  Reception receive(const ParsedPacket& packet, uint32_t mtu) noexcept;

  bool reply_owed() const noexcept { return owed_ != Owed::kNothing; }
  /// The answer as things stand now. Only when `reply_owed`.
  Acknowledgement take_reply() noexcept;

  State state() const noexcept { return state_; }
  uint32_t expected_psn() const noexcept { return expected_; }
  /// Messages completed, modulo 2^24.
  uint32_t msn() const noexcept { return msn_; }

 private:
  enum class Owed : uint8_t { kNothing, kAck, kNak };

  Reception refuse(Syndrome syndrome) noexcept;
  Reception out_of_order(int32_t ahead) noexcept;

  MemoryRegion region_;
  uint32_t expected_ = 0;
  uint32_t msn_ = 0;
  uint32_t message_bytes_ = 0;  // of the message in progress
  uint32_t remaining_ = 0;      // of it, not yet received
  Syndrome nak_ = Syndrome::kNakSequence;
  Owed owed_ = Owed::kNothing;
  bool in_message_ = false;
  bool nak_outstanding_ = false;
  State state_ = State::kError;
};
static_assert(sizeof(Responder) == 64);

}  // namespace rankwire
