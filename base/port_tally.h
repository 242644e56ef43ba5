// What has passed a port, as whoever looks on while a run goes on is told.
#pragma once

#include <cstdint>

namespace rankwire {

/// RoCEv2 packets and the bytes of their frames without FCS. Written by one thread.
struct PortTally {
  uint64_t tx_packets = 0, tx_bytes = 0, rx_packets = 0, rx_bytes = 0;
};

}  // namespace rankwire
