// What a transport knows of a connection that makes no progress.
#pragma once

#include <cstdint>
#include <optional>

namespace rankwire {

/// Why the oldest message that a queue pair has not finished is not finished.
enum class Hold : uint8_t {
  kUnknown,       ///< the source's end is elsewhere, or the transport cannot tell
  kNothing,       ///< all that was posted is finished
  kNotConnected,  ///< it has never been connected
  kNextHop,       ///< the link address of the next hop is not known, or a cable is gone
  kBroken,        ///< it is in the error state
  kReceiver,      ///< the receiver has said that it is not ready (RNR)
  kNoCredits,     ///< the receiver has granted too few credits
  kPaused,        ///< the next station has paused the port
  kAnswer,        ///< an acknowledgement, or the response to a READ, has not come
  kFetch,         ///< the peer has not fetched it
  kTurn,          ///< its port has not come to send it
};

/// Of one queue pair of a connection. Either end may be another transport's.
struct QueuePairState {
  Hold hold = Hold::kUnknown;
  uint32_t source_number = 0, destination_number = 0;  ///< QPNs; 0: not known, or there are none
  uint32_t retries = 0;                                ///< time-outs since the last progress
  std::optional<uint32_t> unacknowledged;              ///< at the source: the oldest PSN that is, 24 bits
  std::optional<uint32_t> expected;                    ///< at the destination: the PSN that it waits for, 24 bits

  /// Whether packets have arrived of which the source has not heard: what is missing are answers.
  bool has_unheard() const {
    constexpr uint32_t kHalf = 1 << 23, kMask = (1 << 24) - 1;
    if (!unacknowledged || !expected) return false;
    const uint32_t ahead = (*expected - *unacknowledged) & kMask;
    return ahead > 0 && ahead < kHalf;
  }
  /// What the other end's transport knows in addition.
  void add(const QueuePairState& other) {
    if (hold == Hold::kUnknown) hold = other.hold, retries = other.retries;
    if (source_number == 0) source_number = other.source_number;
    if (destination_number == 0) destination_number = other.destination_number;
    if (!unacknowledged) unacknowledged = other.unacknowledged;
    if (!expected) expected = other.expected;
  }
};

}  // namespace rankwire
