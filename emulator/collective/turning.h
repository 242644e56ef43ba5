// Schedules that are the same seen from every position of the ring, so that one serves all members.
#pragma once

#include "emulator/collective/schedule.h"

namespace rankwire {

/// Whether, by the rules of the algorithm that carries it out, the operation may have such a schedule: what `turns`
/// asks first. `request.local` is not looked at.
bool may_turn(const ScheduleRequest& request, const ScheduleOptions& options);

/// Whether the schedule of every position is that of position 0 with all peers as many places further on the ring, and
/// with other offsets, which say where data stands and not when it moves. So it is where the algorithm knows its peers
/// by their distance alone and all members' parts are equal: ring all-reduce and reduce-scatter, ring all-gather,
/// direct and Bruck's, dissemination. So it is with `options.nccl`, which says where NCCL takes a ring, when
/// `request.local` is empty; a schedule with local members turns to positions that see them at the same distances.
/// (A ring divides what is left of an all-reduce unevenly; then position 1 differs, whose blocks are those of position
/// 0 one place on.) Besides, positions 0, 1, 2, 4, 8 .. and the last are expanded and compared with
/// `first`, the schedule of position 0 for the same request: an algorithm that tells positions apart does so in one of
/// them.
bool turns(const ScheduleRequest& request, const ScheduleOptions& options, const Schedule& first);

/// Whether `turned`, of a member `distance` places further, is `first` in the sense of `turns`.
bool is_turned(const Schedule& first, const Schedule& turned, uint32_t distance, uint32_t members);

/// The peer of a step of position 0, seen from `distance` places further.
constexpr uint32_t turned_peer(uint32_t peer, uint32_t distance, uint32_t members) {
  const uint32_t place = peer + distance;
  return place < members ? place : place - members;
}

}  // namespace rankwire
