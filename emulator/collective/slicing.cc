#include "emulator/collective/slicing.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/message.h"

namespace rankwire {
namespace {

constexpr int64_t kLlStep = 64 << 10;                             // init.cc: DEFAULT_LL_BUFFSIZE / NCCL_STEPS
constexpr int64_t kLl128Step = 614'400;                           // init.cc: DEFAULT_LL128_BUFFSIZE / NCCL_STEPS
constexpr int64_t kLeastTraffic = 32 << 10;                       // channel.h: ncclMinTrafficPerChannel
constexpr int64_t kLlThreads = 512 * 8, kLl128Threads = 640 * 8;  // threads x comm.h: NCCL_LL*_THREAD_THRESHOLD
constexpr int64_t kSimpleThreads = 512 * 64;                      // threads x comm.h: NCCL_SIMPLE_THREAD_THRESHOLD
constexpr int64_t kPartAlignment = 4 << 10;                       // device.h: ncclP2pPartBounds
constexpr int64_t kPeersAtOnce = 8;                               // device.h: NCCL_MAX_DEV_WORK_P2P_PER_BATCH

constexpr int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
constexpr Bytes round_up(int64_t bytes, int64_t unit) {
  return Bytes(divide_up(bytes, unit) * unit);
}
constexpr Bytes whole_elements(int64_t bytes, Bytes element) {
  return Bytes(std::max(bytes / element.count, int64_t{1}) * element.count);
}

/// Data that one step of the buffer takes.
int64_t step_size(NcclProtocol protocol, const NcclProfile& profile) {
  if (protocol == NcclProtocol::kLl) return kLlStep / 2;
  if (protocol == NcclProtocol::kLl128) return kLl128Step / 16 * 15;
  return profile.buffer.count / NcclProfile::kSteps;
}

/// Channels that the operation has data for: below so many bytes a thread NCCL takes fewer.
int64_t busy_channels(const ScheduleRequest& request, const NcclProfile& profile, const NcclChoice& choice) {
  const NcclProtocol protocol = choice.protocol;
  const bool ring = choice.algorithm == Algorithm::kRing;
  const int64_t least = protocol == NcclProtocol::kLl      ? kLlThreads * (ring ? request.members : 1)
                        : protocol == NcclProtocol::kLl128 ? kLl128Threads
                                                           : kSimpleThreads;
  return std::clamp<int64_t>(nccl_operation_size(request).count / least, 1, profile.channels);
}

/// Divides a member's block among the channels in cells of the least traffic that is worth a channel.
void divide_among_channels(Slicing& slicing, const ScheduleRequest& request, int64_t most_channels) {
  const bool scatters = request.operation == Operation::kReduceScatter;
  const int64_t block = scatters ? divide_up(request.bytes.count, request.members) : request.bytes.count;
  const int64_t traffic = request.operation == Operation::kAllReduce               ? 2
                          : scatters || request.operation == Operation::kAllGather ? int64_t{request.members}
                                                                                   : 1;  // ncclFuncTrafficPerByte
  const int64_t cell = round_up(divide_up(kLeastTraffic, traffic), 16).count;
  const int64_t cells = std::max<int64_t>(divide_up(block, cell), 1);
  const int64_t of_channel = std::max(kLeastTraffic, block * traffic / most_channels);
  const int64_t share = std::min(cells, divide_up(of_channel, cell * traffic));
  slicing.channels = static_cast<uint32_t>(divide_up(cells, share));
  slicing.channel_share = round_up(share * cell, request.element.count);
}

Slicing ring_slicing(const ScheduleRequest& request, const NcclProfile& profile, const NcclChoice& choice) {
  Slicing slicing;
  slicing.protocol = choice.protocol;
  const bool pipeline = request.operation == Operation::kBroadcast || request.operation == Operation::kReduce;
  const bool paired = !pipeline && slicing.protocol == NcclProtocol::kSimple;
  const uint32_t steps_a_slice = paired ? 2 : 1;
  slicing.messages_in_flight = std::max(1u, profile.steps_in_flight / steps_a_slice);
  // What a member sends before it receives must fit into the buffer, or all wait for each other.
  slicing.slices_a_chunk = paired ? std::min(2u, slicing.messages_in_flight) : 1;
  slicing.slice = whole_elements(step_size(slicing.protocol, profile) * steps_a_slice, request.element);
  if (!pipeline) slicing.chunk = Bytes(slicing.slice.count * slicing.slices_a_chunk);
  divide_among_channels(slicing, request, busy_channels(request, profile, choice));
  return slicing;
}

/// Halves what a message carries while the channel's data would be fewer messages than `chunks`, down to `least`.
void shrink(int64_t& message, Bytes of_channel, double chunks, int64_t least) {
  while (static_cast<double>(of_channel.count / message) < chunks && message > least) message /= 2;
}

/// enqueue.cc, calcCollChunking.
Slicing tree_slicing(const ScheduleRequest& request, const NcclProfile& profile, const NcclChoice& choice) {
  Slicing slicing;
  slicing.protocol = choice.protocol;
  slicing.messages_in_flight = profile.steps_in_flight;
  divide_among_channels(slicing, request, busy_channels(request, profile, choice));
  slicing.mirrored_from = (profile.channels + 1) / 2;

  const int64_t nodes = request.nodes == 0 ? request.members : request.nodes;
  const double a_node = static_cast<double>(request.members) / static_cast<double>(nodes);
  const Bytes of_channel(request.bytes.count / slicing.channels);
  int64_t message = step_size(choice.protocol, profile);
  if (choice.protocol == NcclProtocol::kSimple) {
    const double depth = static_cast<double>(request.members / nodes - 1 + nccl_log2(nodes));
    shrink(message, of_channel, depth * 8, 128 << 10);
    shrink(message, of_channel, depth * 4, 64 << 10);
    shrink(message, of_channel, depth, 32 << 10);
  } else if (choice.protocol == NcclProtocol::kLl128) {
    const double steps = 1 + static_cast<double>(nccl_log2(nodes)) + a_node / 10;
    shrink(message, of_channel, steps * 64 / a_node, 128 << 10);
    shrink(message, of_channel, steps * 16 / a_node, 32 << 10);
  }
  slicing.slice = whole_elements(message, request.element);
  return slicing;
}

/// enqueue.cc, calcCollChunking.
Slicing pat_slicing(const ScheduleRequest& request, const NcclProfile& profile, const NcclChoice& choice) {
  Slicing slicing;
  slicing.messages_in_flight = profile.steps_in_flight;
  divide_among_channels(slicing, request, busy_channels(request, profile, choice));
  const int64_t times = slicing.channels * (request.operation == Operation::kAllGather ? 32 : 16);
  int64_t message = step_size(NcclProtocol::kSimple, profile);
  while (message * times > nccl_operation_size(request).count && message > 64 << 10) message /= 2;
  slicing.slice = whole_elements(message, request.element);
  return slicing;
}

/// Connections of a pair (paths.cc, ncclTopoComputeP2pChannels).
int64_t channels_a_peer(const ScheduleRequest& request, const NcclProfile& profile) {
  const int64_t all = std::bit_ceil(profile.channels), batches = divide_up(request.members, kPeersAtOnce);
  int64_t channels = profile.p2p_channels;
  while (channels > 1 && channels * batches > all) channels /= 2;
  return channels;
}

Slicing p2p_slicing(const ScheduleRequest& request, const NcclProfile& profile) {
  const bool divided = request.operation == Operation::kAllToAll || request.operation == Operation::kScatter;
  const int64_t elements = request.bytes.count / request.element.count;
  const int64_t part = (divided ? divide_up(elements, request.members) : elements) * request.element.count;
  const int64_t step = std::min(profile.p2p_chunk.count, profile.buffer.count / NcclProfile::kSteps);
  const int64_t chunk = part < step ? step / 4 : part < 8 * step ? step / 2 : step;

  const int64_t most = channels_a_peer(request, profile);
  int64_t channels = most;
  while (channels > 1 && channels * request.members > int64_t{std::bit_ceil(profile.channels)}) channels /= 2;
  channels = std::clamp<int64_t>(divide_up(part, step / 2), 1, channels);
  while (divide_up(part, channels) > step && channels <= most / 2) channels *= 2;

  Slicing slicing;
  slicing.channels = static_cast<uint32_t>(channels);
  slicing.channel_share =
      round_up(round_up(std::max<int64_t>(divide_up(part, channels), 1), kPartAlignment).count, request.element.count);
  slicing.slice = whole_elements(chunk, request.element);
  slicing.messages_in_flight = profile.steps_in_flight;
  return slicing;
}

}  // namespace

Bytes Slicing::slice_of(Bytes message, Bytes element) const {
  if (slices_a_chunk == 1) return slice;
  const Bytes even = round_up(divide_up(message.count, slices_a_chunk), 16 * element.count);
  return std::clamp(even, whole_elements(slice.count / 32, element), slice);
}

Slicing plain_slicing(const ScheduleRequest& request, const ScheduleOptions& options, bool mirrored) {
  Slicing slicing;
  slicing.channels = request.operation == Operation::kBarrier ? 1 : options.channels;
  if (mirrored) {
    slicing.mirrored_from = slicing.channels;
    slicing.channels *= 2;
    if (slicing.channels > MessageId::kMaxChannels)
      fail_input("{}: must be at most {} where data goes both ways or over two trees, not {}", options.channels_key,
                 MessageId::kMaxChannels / 2, options.channels);
  }
  slicing.slice = whole_elements(options.chunk.count, request.element);
  return slicing;
}

Slicing nccl_slicing(const ScheduleRequest& request, const NcclProfile& profile, const NcclChoice& choice) {
  switch (request.operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kBroadcast:
    case Operation::kReduce:
      if (choice.algorithm == Algorithm::kDoubleBinaryTree) return tree_slicing(request, profile, choice);
      if (choice.algorithm == Algorithm::kPat) return pat_slicing(request, profile, choice);
      return ring_slicing(request, profile, choice);
    case Operation::kAllToAll:
    case Operation::kGather:
    case Operation::kScatter:
    case Operation::kPointToPoint:
      return p2p_slicing(request, profile);
    case Operation::kBarrier:
      break;
  }
  Slicing slicing;
  slicing.slice = request.element;
  slicing.messages_in_flight = profile.steps_in_flight;
  return slicing;
}

}  // namespace rankwire
