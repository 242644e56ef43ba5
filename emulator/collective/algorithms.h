// The collective algorithms, one a file. Each adds one channel's steps of one member; `n` is the number of members.
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

/// Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988): in round k of ceil(log2 n)
/// each member signals the member 2^k ahead. Messages have no bytes.
void dissemination_barrier(ScheduleBuilder& builder);

/// Position 0 sends its input to position 1.
void point_to_point(ScheduleBuilder& builder);

}  // namespace rankwire
