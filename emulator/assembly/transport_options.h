// From the `transport` section of a configuration to the transport's options.
#pragma once

#include "dataplane/roce/transport.h"
#include "emulator/assembly/setup.h"
#include "emulator/input/config.h"
#include "fabric/network.h"

namespace rankwire {

/// Gives the keys of `transport` that are absent the profile's values, and `mtu` the largest, so that the resolved
/// configuration says them all. AckReq is set at least once a window.
void apply_profile(TransportConfig& transport);

/// How jobs that say so mark their data. Throws Error(kInput) for a priority that PFC would have to hold back: NICs
/// obey the pauses of one priority for all their data. Warns where a foreign device may send such.
std::vector<JobMarking> job_markings(Setup& setup);

/// For virtual time; `run` adds what only real time needs.
RoceOptions roce_options(const Setup& setup);
/// The exponent t of the acknowledgement time-out that `transport.timeout: auto` stands for: 8 on embedded ports, 12
/// with the embedded switch in a thread of its own, 14 on other ports, or the smallest that is twice the longest time
/// that a frame can wait in front of a port when all queue pairs that lead there have a whole window on the way. A
/// shorter one would take its own queue for loss.
uint32_t default_timeout(const Setup& setup);
/// The longest wait of the transport for one acknowledgement.
Duration regular_timeout(const Setup& setup);
/// How messages become frames. The verb adds to the frames of the data (IBTA 9.3): RETH 16 in the first packet, an
/// immediate or AETH of 4 in others. Where one packet more completes a message it is counted; the round trips of a
/// rendezvous are not modelled.
Framing framing_of(const TransportConfig& transport);

}  // namespace rankwire
