// Parts of a workload: what is not selected becomes a node that takes no time.
#pragma once

#include <span>

#include "emulator/workload/workload.h"

namespace rankwire {

/// Applies `selection` to all ranks, before operations are numbered. Nodes that already are kNone stay so. A list of
/// groups concerns communication only: it deselects SEND and RECV, which belong to no group. Throws Error(kInput) for
/// an unknown group or kind; a pattern that no node matches is a warning.
void select_nodes(const Selection& selection, std::span<const Group> groups, std::span<RankTrace> ranks,
                  Warnings& warnings);

}  // namespace rankwire
