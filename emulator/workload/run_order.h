// The order in which each group runs its collectives, without which ranks could wait for each other for ever.
#pragma once

#include <span>

#include "emulator/workload/matching.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// Sets `run_order` of every collective. A communicator runs its collectives one after the other, in the same order at
/// all members (NCCL); a member that waits for its next one holds back the others.
///
/// All ranks are merged into one graph, in which the members' n-th collective of a group is one vertex and a SEND
/// precedes its RECV. Where this graph stays acyclic with every group in file order, that is the order. Otherwise the
/// file does not say in which order its nodes ran, and the groups follow the dependencies: the graph is walked by
/// earliest start (longest path, counting the nodes' durations and 80 ps a byte of communication, a 100 Gb/s line),
/// ties by the lowest rank's node id, and collectives are numbered as they come, which cannot deadlock; a warning says
/// so. Throws Error(kInput) printing the cycle when the graph has one without any order of groups. O((nodes +
/// dependencies) log nodes).
void order_collectives(Workload& workload, std::span<const Exchange> exchanges, Warnings& warnings);

}  // namespace rankwire
