// What a RoCEv2 transport keeps of queue pairs and of the messages that pass through them, beside the protocol.
#pragma once

#include <cstdint>

#include "base/event.h"
#include "base/id.h"
#include "base/units.h"
#include "dataplane/protocol/carriage.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/wire/pattern_icrc.h"
#include "dataplane/wire/payload.h"

namespace rankwire {

/// Whether packets can reach a queue pair's peer.
enum class LinkState : uint8_t {
  kUnconnected,  ///< the peer is not known
  kResolving,    ///< the next hop's link address is not known yet
  kOpen,
  kUnreachable,  ///< it could not be found in time
};

/// The end of a queue pair that stands here: what every message that it sends needs. One cache line.
struct alignas(64) QueuePairEnd {
  static constexpr uint32_t kNone = UINT32_MAX;

  ConnectionId connection;         ///< whose end point it is
  ConnectionId outbound, inbound;  ///< whose messages it sends and receives; invalid: none
  uint16_t member = 0;
  uint16_t lane = 0;
  bool at_source = false;  ///< of `connection`
  LinkState link = LinkState::kUnconnected;
  bool failed = false;    ///< in the error state
  bool answered = false;  ///< its last paced turn was one of READ responses
  uint32_t peer = kNone;  ///< the other end, when it stands here too

  RemoteRegion remote;  ///< what the peer lets this end write to

  // Of the messages that it sent and that have ended. Packets sent again count each time, READ responses at once.
  uint64_t messages = 0, bytes = 0, packets = 0;
};
static_assert(sizeof(QueuePairEnd) == 64);

/// The queue pairs here that a connection uses, by the first of them.
struct ConnectionEnds {
  uint32_t source = QueuePairEnd::kNone;       ///< they send its messages
  uint32_t destination = QueuePairEnd::kNone;  ///< they receive them
  NicId source_nic, destination_nic;
  JobId job;
  uint32_t largest_message : 31 = 0;  ///< bytes
  bool control : 1 = false;
};

/// The memory that the peer lets a queue pair write to, when messages have places of their own there: see EndPoint.
struct RemoteSlots {
  uint64_t bytes = 0;  ///< of each
  uint32_t count = 1;
  uint32_t written = 0;  ///< messages so far, modulo `count`
};

/// What a queue pair receives.
struct QueuePairInbox {
  // The message that is being received.
  Time first_rx;
  [[no_unique_address]] PayloadCheck check;
  bool awaits_immediate = false;  ///< DataVerb::kWriteThenImm: that of a WRITE that came before
  uint32_t marks = 0;
  uint32_t awaited_bytes = 0;  ///< of that WRITE
  uint32_t unindexed = 0;      ///< messages without a name that were received
  uint64_t delivered = 0;      ///< messages or parts
  uint64_t acks = 0;           ///< sent; here, since most follow the last packet of a message
};
static_assert(sizeof(QueuePairInbox) == 48);

/// What happens seldom. As FlowCounters: of the messages that the queue pair sends, `marks` of those that it receives.
struct QueuePairCounters {
  uint64_t retransmitted = 0;
  uint32_t naks = 0, not_ready_naks = 0, timeouts = 0, marks = 0;
  uint32_t notifications_ignored = 0;
  uint32_t out_of_sequence = 0, duplicates = 0, not_ready = 0;  ///< of packets that it receives
  uint32_t naks_sent = 0;                                       ///< of any kind
};
static_assert(sizeof(QueuePairCounters) == 48);

/// As RdmaCounters: of a queue pair whose marked packets are answered, or that heeds such answers.
struct NotificationCounters {
  uint64_t marked_packets = 0;
  uint32_t sent = 0, handled = 0;
};

/// What a request is for: OutboundMessage::context.
class RequestContext {
 public:
  enum class Purpose : uint8_t {
    kMessage,      ///< a message of its own
    kControl,      ///< the same, of a control connection: it carries its index
    kPart,         ///< one of the requests that a message consists of
    kReadyToSend,  ///< makes an offer
    kGet,          ///< takes it up
    kGetFinished,  ///< says that what was offered has been fetched
  };
  static constexpr uint32_t kMaxSubject = (1u << 29) - 1;

  constexpr explicit RequestContext(Purpose purpose, uint32_t subject = 0)
      : bits_(static_cast<uint32_t>(purpose) << 29 | subject) {}
  constexpr explicit RequestContext(const OutboundMessage& request) : bits_(request.context) {}

  constexpr Purpose purpose() const { return static_cast<Purpose>(bits_ >> 29); }
  /// The Transfer of a kPart, the Offer of a kReadyToSend, the Get of a kGet and kGetFinished.
  constexpr uint32_t subject() const { return bits_ & kMaxSubject; }
  constexpr uint32_t bits() const { return bits_; }
  /// Whether the payload is neither the pattern nor checked words but bytes of the request's own.
  constexpr bool own_payload() const {
    return purpose() == Purpose::kControl || purpose() == Purpose::kReadyToSend || purpose() == Purpose::kGetFinished;
  }

 private:
  uint32_t bits_;
};

/// Whether the request is a WRITE whose message ends with another request (DataVerb::kWriteThenImm).
inline bool has_following_immediate(const OutboundMessage& request, DataVerb verb) noexcept {
  return verb == DataVerb::kWriteThenImm && request.verb == Verb::kWrite &&
         RequestContext(request).purpose() == RequestContext::Purpose::kPart;
}

/// A message, or its part, that a destination fetches.
struct Get {
  Time first_rx = Time::never();
  uint64_t marks = 0;
  PayloadCheck check;
  uint32_t cookie = 0;
};

/// An event that the application has not taken, and whose receives are posted again when it has.
struct Delivery {
  Event event;
  uint32_t queue_pair = 0;  ///< the first of `receives` that consumed one each
  uint32_t receives = 0;
};

/// What is counted beside TransportCounters.
struct RoceDetails {
  uint64_t misdirected = 0;  ///< a queue pair's number but not its addresses or port: flooded frames, as a rule
  uint64_t stale_acks = 0, ghost_acks = 0, malformed_responses = 0;
  uint64_t out_of_credits = 0;  ///< acknowledgements that left a queue pair without credits for its next message
  uint64_t refused = 0;         ///< requests answered by a NAK that ends the queue pair
  uint64_t not_admitted = 0;    ///< requests dropped because more messages are under way than the plan has
  uint64_t out_of_order = 0;    ///< packets placed before one that was missing
  uint64_t answers_merged = 0;  ///< with others, although they should stand alone: the port took none meanwhile
  uint64_t unindexed = 0;       ///< SENDs and WRITEs that name no message
  uint64_t unknown_offers = 0;  ///< words of a rendezvous that fit nothing
};

}  // namespace rankwire
