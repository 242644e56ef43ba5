// Whether the ranks can run to their end at all, with every group's collectives in file order.
#pragma once

#include <span>
#include <string>

#include "emulator/workload/matching.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Whether the communication alone can run one operation of a rank after the other, in the order of the files, and
/// every node stands behind those that it depends on. Then the ranks can run to their end with every group's
/// collectives in file order, since they need not even hold to more than a part of this order.
bool runs_one_by_one(const Workload& workload, std::span<const Exchange> exchanges);

/// For a workload that stays in its files: sets `run_order` of every collective to its place in file order, and returns
/// a node that would wait for ever then, as file, id and name; "" when all ranks run to their end. Either they would
/// wait in any order, or the order of the files is none (see order_collectives). Unless they run one by one the files
/// are read once more for that. Throws Error(kInput) when one cannot be read.
std::string order_streamed_collectives(Workload& workload, std::span<const Exchange> exchanges);

}  // namespace rankwire
