// The collective algorithms, one a file. Each adds one channel's steps of one member; `n` is the number of members.
// Within a channel, sends to one peer and receives from it stand in the order of (step, slice).
#pragma once

#include <cstdint>
#include <span>

#include "emulator/collective/schedule_builder.h"

namespace rankwire {

/// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009): steps
/// 0 .. n-2 reduce-scatter, steps n-1 .. 2n-3 all-gather. Sends 2(n-1)/n of the input.
void ring_all_reduce(ScheduleBuilder& builder);

/// Steps 0 .. n-2. Block b travels from member b+1 once around the ring to member b, gathering sums. Returns what
/// completes the member's own block. Sends all blocks but the member's own: (n-1)/n of their sum.
Producers ring_reduce_scatter(ScheduleBuilder& builder, std::span<const Extent> blocks);

/// Steps first_step .. first_step+n-2. Block b starts at member b, complete when `own` is, and is passed on around the
/// ring. Sends n-1 blocks.
void ring_all_gather(ScheduleBuilder& builder, std::span<const Extent> blocks, uint32_t first_step, Producers own);

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
