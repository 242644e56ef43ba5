// Whether the ranks can run to their end at all, with every group's collectives in file order.
#pragma once

#include <span>

#include "emulator/workload/matching.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Whether the communication alone can run one operation of a rank after the other, in the order of the files, and
/// every node stands behind those that it depends on. Then the ranks can run to their end with every group's
/// collectives in file order, since they need not even hold to more than a part of this order.
bool runs_one_by_one(const Workload& workload, std::span<const Exchange> exchanges);

/// For a workload that stays in its files. Sets `run_order` of every collective to its place in file order, and throws
/// Error(kInput) when the ranks would wait for each other for ever then: either they would in any order, or the order
/// of the files is none (see order_collectives), for which all nodes must be in memory. Unless they run one by one the
/// files are read once more for that.
void order_streamed_collectives(Workload& workload, std::span<const Exchange> exchanges);

}  // namespace rankwire
