// From the ids that nodes refer to, to the graph of one rank.
#pragma once

#include <span>

#include "emulator/workload/rank_file.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// `has_data`: some node of the set has data dependencies.
DependencyUse choose_dependencies(bool has_data, DependencyPolicy policy);

/// Links the nodes of `file`, which it takes. Throws Error(kInput) naming file, node and name for two nodes with one
/// id, a dependency on a node that is missing, and a cycle, which is printed.
RankTrace link_dependencies(RankFile&& file, DependencyUse use, Tolerated& tolerated);

}  // namespace rankwire
