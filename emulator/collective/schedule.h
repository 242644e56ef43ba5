// A collective as one member's partially ordered steps. Pure data: no time, no transport.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/collective/nccl_profile.h"

namespace rankwire {

enum class StepKind : uint8_t { kSend, kReceive, kReduce };

/// `step`, `channel`, `slice` and `control` name a message together with its two ends: the matching send and receive
/// carry the same, and no other message between the two in the same direction does.
struct Step {
  StepKind kind;
  uint8_t channel = 0;
  uint16_t step = 0;
  uint16_t slice = 0;
  bool control = false;  ///< kSend, kReceive: a clear-to-send, which grants the peer the message with the same `step`,
                         ///< `channel` and `slice`
  uint32_t peer = 0;     ///< kSend, kReceive: position of the other member in the group
  Bytes offset;          ///< where in the operation's buffer the data stands, the same at both ends: in one input, or,
                         ///< for all-gather, gather and all-to-all, in all members' inputs one after another
  Bytes bytes;           ///< of data; 0 in a barrier and in a clear-to-send only: what has no elements is not sent
  Bytes message;         ///< kSend, kReceive: size of the message; more than `bytes` where NCCL adds flags
};

/// The steps of one member. A step may start when all its predecessors are complete: `predecessors[i]` counts them and
/// `successors_of(i)` lists who waits for step i. Between two members on one channel, the k-th send in this order
/// matches the k-th receive of the peer, data and clear-to-send counted apart. Immutable and shared.
struct Schedule {
  std::vector<Step> steps;
  std::vector<uint16_t> predecessors;
  std::vector<uint32_t> successor_begin;  ///< steps.size() + 1 offsets into `successors`
  std::vector<uint32_t> successors;

  std::span<const uint32_t> successors_of(uint32_t step) const {
    return {successors.data() + successor_begin[step], successors.data() + successor_begin[step + 1]};
  }
};

/// The collectives that have an algorithm. Point-to-point is a schedule too: position 0 sends to position 1.
enum class Operation : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kPointToPoint,
};

struct ScheduleOptions {
  /// What NCCL would do, instead of `channels` and `chunk`.
  std::optional<NcclProfile> nccl;
  /// Independent copies of the algorithm, 1 .. 32: each takes its share of every member's part, in whole elements.
  uint32_t channels = 1;
  Bytes chunk = Bytes(1 << 20);  ///< largest message: longer steps are cut into slices that are pipelined; > 0
};

struct ScheduleRequest {
  Operation operation = Operation::kAllReduce;
  uint32_t members = 1;
  uint32_t position = 0;     ///< whose steps
  uint32_t root = 0;         ///< position of the root, for rooted operations
  Bytes bytes;               ///< the member's input (the root's, for scatter and broadcast)
  Bytes element = Bytes(1);  ///< data is divided in whole elements
  /// Hosts that the members stand on, for NCCL's choice of a protocol; 0: each member has its own.
  uint32_t nodes = 0;
  /// By position: the members that this one reaches without the network, where NCCL needs no clear-to-send. Empty:
  /// none.
  std::vector<bool> local;
};

/// Ring for all-reduce, reduce-scatter, all-gather, broadcast and reduce; direct for all-to-all, gather and scatter;
/// dissemination (Hensgen, Finkel, Manber 1988) for barrier. One member alone has no steps. With `options.nccl` the
/// data is cut as `nccl_slicing` says and messages on the network are granted as `with_clear_to_send` says. Throws
/// Error(kInput) when the schedule needs more steps or slices than a MessageId can name.
Schedule make_schedule(const ScheduleRequest& request, const ScheduleOptions& options);

}  // namespace rankwire
