// How much later executions could have ended without making a run longer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// By execution: how much later it could have ended, >= 0, while nothing else takes longer. The late end of the
/// critical path method (J. E. Kelley and M. R. Walker, "Critical-Path Planning and Scheduling", 1959) less the end,
/// over these dependencies: an execution starts as long as it did after the last of those that had ended before it on
/// its rank, and of what it waited for otherwise (Executions::gate); and it ends as long as it did after the last start
/// that it waited for (Executions::release). Where a node did not wait for all that had ended before it on its rank
/// there is more slack than that; no execution has less, unless a rank has fewer places to compute than it needs. Time:
/// n log n.
std::vector<Duration> slacks(const Executions& executions);

struct SlackRow {
  /// Of a rank: job and rank. Of an operation: job, kind, and name and group with # for each number.
  NodeInfo node;
  uint64_t executions = 0;
  Duration least, median;  ///< of an even number the shorter of both in the middle
};

struct SlackTable {
  std::vector<SlackRow> ranks;       ///< by rank
  std::vector<SlackRow> operations;  ///< the smallest median first
};

/// Reads every node once.
SlackTable slack_table(const RunReader& record, const Executions& executions);

}  // namespace rankwire
