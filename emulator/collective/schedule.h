// A collective as one member's partially ordered steps. Pure data: no time, no transport.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

enum class StepKind : uint8_t { kSend, kReceive, kReduce };

/// `step`, `channel` and `slice` name a message together with its two ends: the matching send and receive carry the
/// same three numbers, and no other message between the two in the same direction does.
struct Step {
  StepKind kind;
  uint8_t channel = 0;
  uint16_t step = 0;
  uint16_t slice = 0;
  uint32_t peer = 0;  ///< kSend, kReceive: position of the other member in the group
  Bytes offset;       ///< where in the operation's buffer the data stands, the same at both ends: in one input, or,
                      ///< for all-gather, gather and all-to-all, in all members' inputs one after another
  Bytes bytes;        ///< 0 in a barrier only: what has no elements is not sent
};

/// The steps of one member. A step may start when all its predecessors are complete: `predecessors[i]` counts them and
/// `successors_of(i)` lists who waits for step i. Between two members on one channel, the k-th send in this order
/// matches the k-th receive of the peer. Immutable and shared.
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
};

/// Ring for all-reduce, reduce-scatter, all-gather, broadcast and reduce; direct for all-to-all, gather and scatter;
/// dissemination (Hensgen, Finkel, Manber 1988) for barrier. One member alone has no steps. Throws Error(kInput) when
/// the schedule needs more steps or slices than a MessageId can name.
Schedule make_schedule(const ScheduleRequest& request, const ScheduleOptions& options);

}  // namespace rankwire
