// Rates of the transport alone, for whom they are a peer.
#pragma once

#include <cstdint>

#include "dataplane/ports/frame_port.h"

namespace rankwire::bench {

/// Data packets a second around a link with one core for both ends: requests, the check of every whole frame at the
/// other end and its answers, completions and the next messages. Throws Error when anything was repeated or lost.
double transport_loop_rate(FramePort& near, FramePort& far, uint32_t mtu, uint32_t connections);

}  // namespace rankwire::bench
