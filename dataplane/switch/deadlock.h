// Finds cyclic buffer dependencies that have closed.
#pragma once

#include <vector>

#include "base/units.h"
#include "dataplane/switch/pauses.h"
#include "dataplane/switch/tables.h"

namespace rankwire {

/// Output queues of one priority in a cycle in which each is paused at `now` and waits for the next, which is paused:
/// the frames there hold the buffer that keeps it paused. None when there is no such cycle.
std::vector<FabricQueueId> deadlocked_queues(const FabricTables& tables, const FabricPauses& pauses, Time now);

}  // namespace rankwire
