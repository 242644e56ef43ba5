// How the data of an operation becomes messages: channels, chunks and slices.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "emulator/collective/nccl_tuning.h"
#include "emulator/collective/partition.h"
#include "emulator/collective/schedule.h"

namespace rankwire {

struct Slicing {
  uint32_t channels = 1;
  Bytes channel_share;                  ///< a channel's part of a block, the last one's is the rest; 0: equal parts
  Bytes chunk;                          ///< most of a block that goes round the ring in one pass; 0: all of it
  Bytes slice;                          ///< most data a message carries: whole elements
  uint32_t slices_a_chunk = 1;          ///< a chunk is cut into that many equal slices, down to 1/32 of `slice`
  uint32_t mirrored_from = UINT32_MAX;  ///< the first channel that goes backwards, or through the second tree
  uint32_t messages_in_flight = 0;      ///< of a connection before the first must be consumed
  NcclProtocol protocol = NcclProtocol::kSimple;

  /// The data of all slices of a message but the last, which has the rest.
  Bytes slice_of(Bytes message, Bytes element) const;
};

/// The options' channels and chunk as they are; where `mirrored`, as many more channels that go the other way. Throws
/// Error(kInput) when that makes too many.
Slicing plain_slicing(const ScheduleRequest& request, const ScheduleOptions& options, bool mirrored);

/// NCCL 2.30.7. Ring collectives (enqueue.cc, calcCollChunking; collectives.h; prims_simple.h): in protocol Simple
/// all-reduce, all-gather and reduce-scatter send slices of two steps, two a chunk; the others, and all in protocols LL
/// and LL128, slices of one step. Small operations use fewer channels (topoGetAlgoInfo, scheduleCollTasksToPlan).
/// What NCCL does with sends and receives - point-to-point, all-to-all, gather, scatter - goes in chunks of
/// NCCL_P2P_NET_CHUNKSIZE, half of it below 8 chunks and a quarter below one, over as many channels as the size is
/// worth (addP2pToPlan), and in protocol Simple, because shared network buffers have no LL
/// (transport/net.cc, NCCL_ALLOC_P2P_NET_LL_BUFFERS). A barrier, which NCCL does not have, stays what it is.
/// An all-reduce by trees sends slices of one step, in protocol Simple and LL128 of less where the tree is deep for the
/// size; half of the communicator's channels use either tree. PAT sends slices of one step, of less while the operation
/// has less than 16 (reduce-scatter) or 32 for each channel; all blocks that go to one peer at a time are one message
/// before they are cut, where NCCL aggregates as many as fit into its buffers. `choice` is for these three kinds.
Slicing nccl_slicing(const ScheduleRequest& request, const NcclProfile& profile, const NcclChoice& choice);

}  // namespace rankwire
