// From the ids that nodes refer to, to the graph of one rank.
#pragma once

#include <span>

#include "emulator/workload/rank_file.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Which lists carry the graph of the whole set. A list that carries it must resolve; a control dependency beside data
/// dependencies may point to a node that the producer left out, such as the root of a call stack, and is then dropped.
struct DependencyUse {
  bool data = false;
  bool control = false;
  bool control_must_resolve = false;
};

DependencyUse choose_dependencies(std::span<const RankFile> files, DependencyPolicy policy);

/// Links the nodes of `file`, which it takes. Throws Error(kInput) naming file, node and name for two nodes with one
/// id, a dependency on a node that is missing, and a cycle, which is printed.
RankTrace link_dependencies(RankFile&& file, DependencyUse use, Tolerated& tolerated);

}  // namespace rankwire
