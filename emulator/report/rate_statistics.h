// The sampled rates of a run: what each port and queue pair amounts to, and over time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/record/rate_rows.h"

namespace rankwire {

/// What a port sent and received. Of an interval both are even.
struct PortRateStatistics {
  PortId port;
  Bytes tx, rx;
  double highest_tx = 0, highest_rx = 0;     ///< bits a second, of one interval
  std::vector<double> tx_column, rx_column;  ///< mean bits a second, kPlotColumns each
};

/// What congestion control allowed a queue pair, each sample until the next. Nothing is known before the first one.
struct AllowanceStatistics {
  ConnectionId connection;
  uint16_t member = 0;
  RankId source, destination;
  uint64_t samples = 0;
  Bandwidth lowest_rate;
  double mean_rate = 0;                            ///< bits a second
  std::optional<Bytes> smallest_window;            ///< absent, as the next: without windows
  std::optional<double> mean_window;               ///< bytes
  std::vector<double> rate_column, window_column;  ///< the lowest of each, kPlotColumns; 0 where nothing is known
};

/// Of a run that took `end` (> 0): the port that sent most first.
std::vector<PortRateStatistics> port_rate_statistics(const RateSampling& rates, Time end);
/// The queue pair that was held back most first: the lowest mean rate, then the smallest mean window.
std::vector<AllowanceStatistics> allowance_statistics(const RateSampling& rates, Time end);

}  // namespace rankwire
