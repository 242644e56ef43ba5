// A collective as one member's partially ordered steps. Pure data: no time, no transport.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/collective/algorithm.h"
#include "emulator/collective/nccl_profile.h"
#include "emulator/collective/partition.h"

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
  uint32_t scattered = 0;  ///< 0: the data stands together; otherwise see ScatteredData, and `offset` is the first's
  Bytes offset;   ///< where in the operation's buffer the data stands, the same at both ends: in one input, or,
                  ///< for all-gather, gather and all-to-all, in all members' inputs one after another
  Bytes bytes;    ///< of data; 0 in a barrier and in a clear-to-send only: what has no elements is not sent
  Bytes message;  ///< kSend, kReceive: size of the message; more than `bytes` where NCCL adds flags
};

/// Whether the step adds to the member's own what `receive` brought. Any other receipt replaces what the member had.
constexpr bool reduces(const Step& step, const Step& receive) {
  return step.kind == StepKind::kReduce && step.peer == receive.peer && step.channel == receive.channel &&
         step.step == receive.step && step.slice == receive.slice;
}

/// Data of messages that stands in several places of the buffer: `scattered` = k of a step names the pieces from
/// piece_begin[k-1] to piece_begin[k].
struct ScatteredData {
  std::vector<uint32_t> piece_begin{0};
  std::vector<Extent> pieces;
};

/// The steps of one member. A step may start when all its predecessors are complete: `predecessors[i]` counts them and
/// `successors_of(i)` lists who waits for step i. Between two members on one channel, the k-th send in this order
/// matches the k-th receive of the peer, data and clear-to-send counted apart. Immutable and shared.
struct Schedule {
  std::vector<Step> steps;
  std::vector<uint16_t> predecessors;
  std::vector<uint32_t> successor_begin;  ///< steps.size() + 1 offsets into `successors`
  std::vector<uint32_t> successors;
  ScatteredData scattered;  ///< who needs no more than sizes may clear it

  /// Where the step's data stands, in the order in which the message carries it.
  std::vector<Extent> pieces_of(const Step& step) const;

  std::span<const uint32_t> successors_of(uint32_t step) const {
    return {successors.data() + successor_begin[step], successors.data() + successor_begin[step + 1]};
  }
};

struct CustomAlgorithm;

struct ScheduleOptions {
  /// By operation: how it is carried out; one of algorithms_for(operation), with `nccl` of nccl_algorithms_for.
  std::array<Algorithm, kCollectiveOperations> algorithms{};
  /// By operation: with kCustom; groups of another size take kAuto.
  std::array<std::shared_ptr<const CustomAlgorithm>, kCollectiveOperations> custom{};
  RingOrder ring_order = RingOrder::kAscending;
  RingDirection ring_direction = RingDirection::kForward;
  std::vector<uint32_t> ring_ranks;  ///< kListed: the ranks in their order, for whoever makes ScheduleRequest::ring
  /// What NCCL would do, instead of `channels` and `chunk`.
  std::optional<NcclProfile> nccl;
  /// Independent copies of the algorithm, 1 .. 32: each takes its share of every member's part, in whole elements.
  /// Trees and bidirectional rings need two for each, so at most 16 are left.
  uint32_t channels = 1;
  Bytes chunk = Bytes(1 << 20);  ///< largest message: longer steps are cut into slices that are pipelined; > 0
  /// What errors call the two by: where they are written, and the keys.
  std::string channels_key = "channels", chunk_key = "chunk";

  const CustomAlgorithm* custom_algorithm(Operation operation) const {
    return custom[static_cast<size_t>(operation)].get();
  }
  Algorithm algorithm(Operation operation) const { return algorithms[static_cast<size_t>(operation)]; }
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
  /// By position: the host of each member, any number, for algorithms that ask who stands together. Empty: each has its
  /// own.
  std::vector<uint32_t> hosts;
  /// RingOrder::kListed: positions in the order of the ring. Empty: ascending.
  std::vector<uint32_t> ring;
  /// kInNetwork: a tree of the members, its leaves, and of aggregators, whose positions follow the members': by
  /// position, that of the aggregator above; of the topmost its own. `position` may be an aggregator's, too.
  std::vector<uint32_t> aggregation;
  /// Of an operation whose blocks are not equal, where in its buffer each begins and where the last ends, in bytes from
  /// 0 on and whole elements: of an all-to-all n*n blocks, that from member s to member d the (s*n+d)-th; of an
  /// all-gather the n inputs; of a reduce-scatter the n parts of the input. Empty: blocks as `bytes` says; otherwise
  /// that is the largest block, of all-to-all and reduce-scatter n times. Borrowed.
  std::span<const Bytes> blocks;
};

/// `request` with these blocks, and `bytes` as they say. Throws Error(kInput) unless they are as
/// ScheduleRequest::blocks has them.
ScheduleRequest with_blocks(ScheduleRequest request, std::span<const Bytes> blocks);

/// The steps of `options.algorithm(request.operation)`; dissemination (Hensgen, Finkel, Manber 1988) for barrier. One
/// member alone has no steps. With `options.nccl` the data is cut as `nccl_slicing` says and messages on the network
/// are granted as `with_clear_to_send` says. Throws Error(kInput) when the schedule needs more steps or slices than a
/// MessageId can name, and when the algorithm does not suit the operation.
Schedule make_schedule(const ScheduleRequest& request, const ScheduleOptions& options);

}  // namespace rankwire
