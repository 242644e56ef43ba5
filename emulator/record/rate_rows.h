// Rates of a run over time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// What passed a port in an interval in which something did: packets without FCS.
struct PortRateRow {
  Time time;  ///< end of the interval
  PortId port;
  Bytes tx, rx;
};

/// What congestion control allowed a queue pair at the end of an interval in which that changed; without a row nothing
/// did. Windows are absent where the algorithm has none.
struct AllowanceRow {
  Time time;  ///< end of the interval
  ConnectionId connection;
  uint16_t member = 0;
  RankId source, destination;                    ///< of the connection
  Bandwidth rate, lowest_rate;                   ///< of what frames take on the line; the lowest of the interval
  std::optional<Bytes> window, smallest_window;  ///< of payload; the smallest of the interval
};

/// What was sampled of a run. Rows are in the order of time.
struct RateSampling {
  Duration port_interval, allowance_interval;  ///< as doubled when rows ran out
  uint64_t lost = 0;                           ///< rows for which even that made no room
  std::vector<PortRateRow> ports;
  std::vector<AllowanceRow> allowances;
};

}  // namespace rankwire
