// What a transport reports of a message. Sending and delivery are two events at two places.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/id.h"
#include "base/time_by_cause.h"
#include "base/units.h"

namespace rankwire {

enum class EventKind : uint8_t {
  kSent,      ///< at the source: every byte acknowledged
  kReceived,  ///< at the destination: every byte delivered, once
  kFailed,    ///< at either end; `failure` says why. Nothing more is reported of this message at that end.
};

enum class Failure : uint8_t {
  kNone,
  kRetryExceeded,      ///< no acknowledgement after retry_count time-outs or NAKs
  kNotReadyExceeded,   ///< the receiver was not ready (RNR NAK) more than rnr_retry times
  kRemoteInvalid,      ///< NAK invalid request (IBTA 9.9.3 class C)
  kRemoteAccess,       ///< NAK remote access error
  kRemoteOperational,  ///< NAK remote operational error
  kUnreachable,        ///< the next hop's link address could not be resolved
  kFlushed,            ///< queued behind a message that failed on the same queue pair
  kDevice,             ///< the NIC said that its queue pair, its port or itself had failed
};

const char* to_string(Failure failure);

/// (connection, index) names the message; the owner of the plan maps it to a MessageId. What a transport cannot know is
/// `Time::never()`.
struct Event {
  struct Sent {
    Time posted;    ///< handed to the transport
    Time first_tx;  ///< first frame given to the port
    Time last_tx;   ///< last frame given to the port, retransmissions included
    Time acked;     ///< last acknowledgement
  };
  struct Received {
    Time first_rx;         ///< arrival of the first frame
    Time delivered;        ///< arrival of the last frame in order
    uint64_t payload_key;  ///< in checking mode, the key that the payload carried (its first min(8, bytes) bytes, zero
                           ///< extended); otherwise 0
    uint64_t marks;        ///< frames of the message that arrived with ECN CE
  };

  Event() : sent() {}

  EventKind kind = EventKind::kSent;
  Failure failure = Failure::kNone;
  bool at_source = true;  ///< which end reports
  ConnectionId connection;
  uint32_t index = 0;
  uint32_t retransmissions = 0;  ///< kSent: frames sent again
  Bytes bytes;
  union {
    Sent sent;
    Received received;
  };
  /// At the source, where causes are recorded: how the time went that its queue pairs had something to do in, since the
  /// end of the message before it there, so that the shares of a queue pair's messages add up to all its time. The
  /// transport's, until its next `poll`. Otherwise null.
  const TimeByCause* causes = nullptr;
};
static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) <= 64);

}  // namespace rankwire
