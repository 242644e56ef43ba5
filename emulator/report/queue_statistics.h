// The sampled queues of a run: what each of them amounts to, and its length over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/record/run_record.h"

namespace rankwire {

/// One output queue. Lengths are known at the ends of intervals alone: a peak within one may be higher.
struct QueueStatistics {
  /// What is known of a stretch of time.
  struct Column {
    Bytes longest;
    bool known = false, paused = false, marked = false, dropped = false;
  };

  std::string name;
  uint8_t priority = 0;
  uint64_t samples = 0;
  Bytes longest;
  double mean = 0;  ///< bytes, over the time from 0 to the end, each sample holding until the next
  uint64_t marks = 0, drops = 0, xoff_rx = 0, xoff_tx = 0;
  std::vector<Column> columns;  ///< kPlotColumns
};

/// Those of a run that took `end` (> 0), the longest first; of equals the order in which they were first sampled.
std::vector<QueueStatistics> queue_statistics(const QueueSampling& sampling, Time end);

}  // namespace rankwire
