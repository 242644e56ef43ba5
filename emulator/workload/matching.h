// Which operations of different ranks are one: the n-th collective of a group, the n-th message with one tag.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/workload/workload.h"

namespace rankwire {

/// A node of the run: its rank and its place in the rank's trace.
struct NodePlace {
  uint32_t rank = 0, node = 0;
};

/// A SEND and the RECV that takes its message.
struct Exchange {
  NodePlace send, receive;
};

/// Sets `sequence` of every collective, the n-th of its group in file order, and checks that all members of a group
/// have the same: kind, size, root and number. Fills in Workload::blocks from `splits`, where these go together. Throws
/// Error(kInput) naming both files and nodes.
void match_collectives(Workload& workload, const SplitSizes& splits);

/// Sets `sequence` and `tag_ordinal` of every SEND and RECV, pairing those with equal (source, destination, tag) in
/// file order, and returns the pairs. Throws Error(kInput) naming file, node and name for one that has no counterpart,
/// and for a pair with two sizes.
std::vector<Exchange> match_point_to_point(Workload& workload);

}  // namespace rankwire
