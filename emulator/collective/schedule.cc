#include "emulator/collective/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/message.h"
#include "emulator/collective/algorithm_table.h"
#include "emulator/collective/clear_to_send.h"
#include "emulator/collective/custom_algorithm.h"
#include "emulator/collective/nccl_tuning.h"
#include "emulator/collective/schedule_builder.h"
#include "emulator/collective/slicing.h"

namespace rankwire {
namespace {

constexpr int64_t kLargestMessage = std::numeric_limits<int32_t>::max();

void validate(const ScheduleRequest& request, const ScheduleOptions& options) {
  const size_t positions = std::max<size_t>(request.members, request.aggregation.size());
  if (request.position >= positions || request.root >= request.members)
    fail_input("position {} and root {} must be below the {} members of the group", request.position, request.root,
               positions);
  if (request.operation == Operation::kPointToPoint && request.members != 2)
    fail_input("a point-to-point operation has 2 members, not {}", request.members);
  if (request.element.count < 1 || request.bytes.count < 0 || request.bytes.count % request.element.count != 0)
    fail_input("{} bytes are not a whole number of elements of {} bytes", request.bytes.count, request.element.count);
  if (!request.hosts.empty() && request.hosts.size() != request.members)
    fail_input("{} members of a group stand on {} hosts", request.members, request.hosts.size());
  if (!request.blocks.empty() && with_blocks(request, request.blocks).bytes != request.bytes)
    fail_input("blocks of {} members are not those of {} bytes", request.members, request.bytes.count);
  if (!request.ring.empty() && request.ring.size() != request.members)
    fail_input("the order of a ring of {} members names {}", request.members, request.ring.size());
  if (options.nccl) {
    validate(*options.nccl);
    constexpr Bytes kLargestElement(4096);
    if (request.element > kLargestElement)
      fail_input("NCCL divides data in elements of at most {} bytes, not {}", kLargestElement.count,
                 request.element.count);
    return;
  }
  if (options.channels < 1 || options.channels > MessageId::kMaxChannels)
    fail_input("{}: must be 1 .. {}, not {}", options.channels_key, MessageId::kMaxChannels, options.channels);
  if (options.chunk < request.element || options.chunk.count > kLargestMessage)
    fail_input("{}: must be from one element ({} bytes) to {} bytes, not {}", options.chunk_key, request.element.count,
               kLargestMessage, options.chunk.count);
}

/// Throws unless the algorithm that is told is one for the operation.
void check_algorithm(const ScheduleRequest& request, const ScheduleOptions& options) {
  const Algorithm told = options.algorithm(request.operation);
  if (told == Algorithm::kCustom && !options.nccl && options.custom_algorithm(request.operation) != nullptr) return;
  const auto known = options.nccl ? nccl_algorithms_for(request.operation) : algorithms_for(request.operation);
  if (std::ranges::find(known, told) == known.end())
    fail_input("{}: the algorithm {} is none of {}", to_string(request.operation), to_string(told), names_of(known));
  if (told == Algorithm::kInNetwork && request.members > 1 && request.aggregation.size() <= request.members)
    fail_input("{}: in_network needs aggregators, which collectives.aggregators names", to_string(request.operation));
}

/// How the operation is carried out: as told, as NCCL would, or by default.
NcclChoice chosen(const ScheduleRequest& request, const ScheduleOptions& options) {
  const Algorithm told = options.algorithm(request.operation), common = default_algorithm(request.operation);
  if (options.nccl && common == Algorithm::kRing) return nccl_choice(request, *options.nccl, told);
  const CustomAlgorithm* custom = options.custom_algorithm(request.operation);
  // Those are for groups of one size, and for equal blocks.
  const bool unsuited = told == Algorithm::kCustom && (custom->size() != request.members || !request.blocks.empty());
  return {.algorithm = told == Algorithm::kAuto || unsuited ? common : told};
}

/// Positions by place on the channel's ring.
std::vector<uint32_t> ring_order(const ScheduleRequest& request, RingOrder rule, bool backwards) {
  std::vector<uint32_t> order(request.members);
  std::iota(order.begin(), order.end(), 0u);
  if (rule == RingOrder::kListed && !request.ring.empty()) order = request.ring;
  if (rule == RingOrder::kDescending) std::reverse(order.begin(), order.end());
  if (rule == RingOrder::kInterleaved)
    std::stable_partition(order.begin(), order.end(), [](uint32_t position) { return position % 2 == 0; });
  if (backwards) std::reverse(order.begin(), order.end());
  return order;
}

/// Positions by place, so that the request's root is at the place of the root.
std::vector<uint32_t> turned(const ScheduleRequest& request, uint32_t root) {
  std::vector<uint32_t> order(request.members);
  for (uint32_t place = 0; place < request.members; ++place)
    order[place] = (place + request.members + request.root - root) % request.members;
  return order;
}

Schedule built_schedule(const ScheduleRequest& request, const ScheduleOptions& options, Algorithm algorithm,
                        const Slicing& slicing) {
  const bool ring = algorithm == Algorithm::kRing;
  const bool custom = algorithm == Algorithm::kCustom;
  const AddChannel add_channel = function_of(request.operation, algorithm);
  ScheduleBuilder builder(request, slicing);
  if (custom) {
    const CustomAlgorithm& described = *options.custom_algorithm(request.operation);
    const bool rooted = request.operation == Operation::kBroadcast || request.operation == Operation::kReduce;
    if (rooted && request.root != described.root) builder.place_members(turned(request, described.root));
    add_custom_algorithm(builder, described);
  }
  for (uint32_t channel = custom ? 1 : 0; channel < slicing.channels && request.members > 1; ++channel) {
    builder.begin_channel(static_cast<uint8_t>(channel));
    const bool backwards = ring && builder.is_mirrored();
    if (ring && (backwards || options.ring_order != RingOrder::kAscending))
      builder.place_members(ring_order(request, options.ring_order, backwards));
    add_channel(builder);
  }
  return builder.finish();
}

/// By which key messages become larger, and so fewer.
const char* way_to_larger_messages(const ScheduleRequest& request, const ScheduleOptions& options,
                                   const Slicing& slicing) {
  if (!options.nccl) return options.chunk.count < kLargestMessage ? "use a larger chunk" : "use more channels";
  if (slicing.protocol != NcclProtocol::kSimple) return "set collectives.nccl.protocol to simple";
  if (default_algorithm(request.operation) != Algorithm::kRing)
    return "raise collectives.nccl.p2p_chunk, of which an eighth of collectives.nccl.buffer is the most";
  return "raise collectives.nccl.buffer";
}

}  // namespace

ScheduleRequest with_blocks(ScheduleRequest request, std::span<const Bytes> blocks) {
  const bool pairs = request.operation == Operation::kAllToAll;
  const bool gathers = request.operation == Operation::kAllGather;
  if (!pairs && !gathers && request.operation != Operation::kReduceScatter)
    fail_input("{} has no blocks of different sizes", to_string(request.operation));
  const size_t count = size_t{request.members} * (pairs ? request.members : 1);
  if (blocks.size() != count + 1) fail_input("{} blocks, not {}", blocks.size() - 1, count);
  if (blocks.front() != Bytes(0)) fail_input("the first block begins at {}", blocks.front().count);
  Bytes largest;
  for (size_t i = 0; i < count; ++i) {
    const Bytes block = blocks[i + 1] - blocks[i];
    if (block < Bytes(0) || block.count % request.element.count != 0)
      fail_input("a block of {} bytes, elements are {}", block.count, request.element.count);
    largest = std::max(largest, block);
  }
  request.bytes = Bytes(largest.count * (gathers ? 1 : request.members));
  request.blocks = blocks;
  return request;
}

std::vector<Extent> Schedule::pieces_of(const Step& step) const {
  if (step.scattered == 0) return {{step.offset, step.bytes}};
  return {scattered.pieces.begin() + scattered.piece_begin[step.scattered - 1],
          scattered.pieces.begin() + scattered.piece_begin[step.scattered]};
}

Schedule make_schedule(const ScheduleRequest& request, const ScheduleOptions& options) {
  validate(request, options);
  check_algorithm(request, options);
  const NcclChoice choice = chosen(request, options);
  const Algorithm algorithm = choice.algorithm;
  const bool mirrored = (algorithm == Algorithm::kRing && options.ring_direction == RingDirection::kBidirectional) ||
                        algorithm == Algorithm::kDoubleBinaryTree;
  Slicing slicing =
      options.nccl ? nccl_slicing(request, *options.nccl, choice) : plain_slicing(request, options, mirrored);
  // Messages of a described algorithm name their channels themselves, and no data is divided.
  if (algorithm == Algorithm::kCustom) slicing.channels = 1;
  Schedule schedule;
  try {
    schedule = built_schedule(request, options, algorithm, slicing);
  } catch (const Error& error) {  // a step or a slice that no number is left for
    fail_input("{}: {}: {}: {}", options.chunk_key, to_string(request.operation), error.what(),
               way_to_larger_messages(request, options, slicing));
  }
  if (!options.nccl || !options.nccl->clear_to_send) return schedule;
  return with_clear_to_send(schedule, slicing.messages_in_flight, request.local);
}

}  // namespace rankwire
