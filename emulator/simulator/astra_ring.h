// Ring phases without congestion, where every member's end follows from when the members begin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_phase.h"

namespace rankwire {

/// The way of a member's messages.
struct AstraHop {
  Duration delay;                     ///< from the member before it
  std::optional<Duration> handshake;  ///< with a rendezvous: of the message to that member

  bool operator==(const AstraHop&) const = default;
};

/// By member, in the order in which messages go round: when the phase ends. `begins` and `hops` are by member, too.
/// A member sends its next message when it has received one and taken the end point's time for it; the n-th message is
/// received when it has arrived and the member has sent its own n-th. O(members) where all begin at once and all hops
/// are equal, else O(members x messages of each). Gives what make_astra_exchange gives, event by event.
std::vector<Time> astra_ring_ends(const AstraPhase& phase, const AstraEndpoint& endpoint, std::span<const Time> begins,
                                  std::span<const AstraHop> hops);

}  // namespace rankwire
