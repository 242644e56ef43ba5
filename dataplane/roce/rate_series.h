// Rates over time: what passes the ports of a transport, and what congestion control allows its queue pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bounded_series.h"
#include "base/id.h"
#include "base/units.h"
#include "dataplane/congestion/allowance_series.h"

namespace rankwire {

/// What passed a port in an interval in which something did: packets without FCS, as the transport took and gave them.
struct PortSample {
  Time at;
  uint32_t of = 0;  ///< PortId
  uint64_t tx_bytes = 0, rx_bytes = 0;

  void add(const PortSample& later) noexcept { tx_bytes += later.tx_bytes, rx_bytes += later.rx_bytes; }
};

/// Written by a transport in its thread, and read when that has ended. What passes before time 0 is left out.
struct RateSeries {
  /// Whose messages a queue pair sends.
  struct Sender {
    ConnectionId connection;
    uint16_t member = 0;
  };

  /// `interval` > 0; `rows`: of ports, and as many of queue pairs; > 0.
  RateSeries(Duration interval, uint32_t rows) : ports(interval, rows), allowances(interval, rows) {}

  BoundedSeries<PortSample> ports;
  AllowanceSeries allowances;
  std::vector<Sender> senders;  ///< by queue pair
};

}  // namespace rankwire
