// The collective algorithms, one a file or a family a file. Each adds one channel's steps of one member; `n` is the
// number of members, `k` is floor(log2 n), `S` the input. docs/collectives.md has steps and bytes in closed form.
// Within a channel, sends to one peer and receives from it stand in the order of (step, slice).
#pragma once

#include <cstdint>
#include <span>

#include "emulator/collective/schedule_builder.h"

namespace rankwire {

/// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009), of one
/// block a member: steps first_step .. first_step+n-2 reduce-scatter, the n-1 next ones all-gather. Starts when `after`
/// is complete; returns what completes the last block. Sends 2(n-1)/n of the input.
Producers ring_all_reduce(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step,
                          const Producers& after);

/// Steps first_step .. first_step+n-2. Block b travels from member b+1 once around the ring to member b, gathering
/// sums. Starts when `after` is complete; returns what completes the member's own block. Sends all blocks but the
/// member's own: (n-1)/n of their sum.
Producers ring_reduce_scatter(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step,
                              const Producers& after);

/// Steps first_step .. first_step+n-2. Block b starts at member b, complete when `own` is, and is passed on around the
/// ring. Returns what completes the last block. Sends n-1 blocks.
Producers ring_all_gather(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step, Producers own);

/// All-reduce, reduce-scatter or all-gather in passes: chunk by chunk of the channel's blocks, as Slicing::chunk says.
/// As in NCCL's kernels, a member begins a pass when it has received the last block of the one before.
void ring_passes(ScheduleBuilder& builder);

/// A pipeline of slices from the root along the ring; step d is the message that the member at distance d from the root
/// sends. All members but the last send the whole input.
void ring_broadcast(ScheduleBuilder& builder);

/// A pipeline of slices along the ring from the member after the root to the root, adding at each. All members but the
/// root send the whole input.
void ring_reduce(ScheduleBuilder& builder);

/// Each member sends each other member its part of the input directly; step d-1 is the message to the member at
/// distance d, so that no two members begin with the same destination. Sends (n-1)/n of the input.
void direct_all_to_all(ScheduleBuilder& builder);

/// All members send their input to the root at once.
void direct_gather(ScheduleBuilder& builder);

/// The root sends each member its part of the root's input.
void direct_scatter(ScheduleBuilder& builder);

/// Rabenseifner's all-reduce and reduce: vector halving with distance doubling leaves every vertex of a hypercube with
/// its share of the sum; the way back, or a binomial tree to the root, follows. Sources: Thakur, Rabenseifner, Gropp,
/// IJHPCA 19 (2005). Where n is no power of two, one of each of n - 2^k pairs first gives its input to the other, and
/// after an all-reduce gets the result.
void halving_doubling(ScheduleBuilder& builder);
/// The same, but in each of those pairs both add one half, and one of them then hands over its half ("2-1 elimination";
/// Rabenseifner, Traeff, "More efficient reduction algorithms for non-power-of-two number of processors in
/// message-passing parallel systems", EuroPVM/MPI 2004).
void halving_doubling_elimination(ScheduleBuilder& builder);

/// Members at distances 1, 2, 4, ... exchange and add all they have (Thakur, Rabenseifner, Gropp 2005). Sends k S; of
/// members without a vertex one more step before and after.
void recursive_doubling_all_reduce(ScheduleBuilder& builder);
/// The same of inputs, which double in every step.
void recursive_doubling_all_gather(ScheduleBuilder& builder);
/// Members at distances 2^(k-1), ..., 2, 1 exchange the half that the other keeps, and add.
void recursive_halving_reduce_scatter(ScheduleBuilder& builder);

/// Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", IEEE TPDS 8 (1997): ceil(log2 n) steps for every n.
void bruck_all_gather(ScheduleBuilder& builder);
void bruck_all_to_all(ScheduleBuilder& builder);

/// Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv:2506.20252 (2025),
/// fully aggregated: a binomial tree for each member's block, all at once, far distances first, so that the large
/// messages go to near members.
void pat_all_gather(ScheduleBuilder& builder);
void pat_reduce_scatter(ScheduleBuilder& builder);

/// Every member sends every other its block at once, and adds what it gets. All-reduce then sends every other the sum.
void direct_reduce_scatter(ScheduleBuilder& builder);
void direct_all_reduce(ScheduleBuilder& builder);
/// Every member sends its input to every other at once.
void direct_all_gather(ScheduleBuilder& builder);

/// n - 1 exchanges one after another: with the member whose number differs in the bits of d, or, where n is no power of
/// two, to the one d ahead and from the one d behind (Thakur, Rabenseifner, Gropp 2005).
void pairwise_all_to_all(ScheduleBuilder& builder);

/// Binomial trees from or to the root, ceil(log2 n) rounds, pipelined by slices.
void binomial_broadcast(ScheduleBuilder& builder);
void binomial_reduce(ScheduleBuilder& builder);
void binomial_gather(ScheduleBuilder& builder);
void binomial_scatter(ScheduleBuilder& builder);

/// NCCL's trees of hosts, each host a chain, pipelined by slices: step 0 goes to the root, step 1 back. The mirrored
/// channels use the second tree.
void double_binary_tree(ScheduleBuilder& builder);

/// Every member of a host gathers its part of the local inputs directly (step 0), a ring joins members of equal local
/// index (steps 1 ..), and the results are handed out on the host. Hosts may have different numbers of members: those
/// that go beyond the fewest are served by the others.
void hierarchical_all_reduce(ScheduleBuilder& builder);
void hierarchical_reduce_scatter(ScheduleBuilder& builder);
void hierarchical_all_gather(ScheduleBuilder& builder);
/// Each member hands its local neighbours what they keep and what goes to members of their index elsewhere; then one
/// message goes to every such member with the data of the whole host.
void hierarchical_all_to_all(ScheduleBuilder& builder);
/// NCCL's PXN (2.30.7, transport/net.cc): the same way, but for every source and destination apart, so that each slice
/// goes on as soon as it has come.
void pxn_all_to_all(ScheduleBuilder& builder);

/// Reduction on its way through a tree of nodes that are no members (ScheduleRequest::aggregation), as by Graham and
/// others, "Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016: each node adds what all its neighbours
/// but one send and passes the sum on to that one (step 0), and hands results out the other way (step 1), slice by
/// slice. All-reduce and reduce-scatter add towards the tree's top, reduce towards the root, and a broadcast goes out
/// from there. Of reduce-scatter, only what members below need goes down. A member sends S once.
void in_network_all_reduce(ScheduleBuilder& builder);
void in_network_reduce_scatter(ScheduleBuilder& builder);
void in_network_reduce(ScheduleBuilder& builder);
void in_network_broadcast(ScheduleBuilder& builder);

/// Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988): in round k of ceil(log2 n)
/// each member signals the member 2^k ahead. Messages have no bytes.
void dissemination_barrier(ScheduleBuilder& builder);

/// Position 0 sends its input to position 1.
void point_to_point(ScheduleBuilder& builder);

}  // namespace rankwire
