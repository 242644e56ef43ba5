// When the operations of a run sent what its queue pairs have counted: for records without its messages.
#pragma once

#include <functional>
#include <span>

#include "base/id.h"
#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// What one execution moved over the port of its rank, evenly from its start to its end.
struct OperationTraffic {
  PortId port;
  bool outbound = true;  ///< from the port into the network; otherwise from the network to the port
  JobId job;
  Time from, to;
  double bytes = 0;  ///< payload
};

/// Visits executions that moved something over a port, oldest start first, by where `nics` says that ranks stand, and
/// returns whether it could: not where executions are missing or more than Executions::kMost. What queue pairs counted
/// of a process group, or of a pair's SENDs, is given out among the executions of its nodes at that rank, in proportion
/// to the bytes of the nodes; the sum is exact. An execution lasts from when its rank begins it, also while it waits
/// for others, so that times are rather too long. Reads queue pairs, nodes and executions once, and keeps 24 bytes of
/// each execution that communicates.
bool for_each_operation_traffic(const RunReader& record, const RecordedRun& run, std::span<const RankNic> nics,
                                const std::function<void(const OperationTraffic&)>& visit);

}  // namespace rankwire
