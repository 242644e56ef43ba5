#include "emulator/collective/schedule.h"

#include <limits>

#include "base/error.h"
#include "base/message.h"
#include "emulator/collective/algorithms.h"
#include "emulator/collective/clear_to_send.h"
#include "emulator/collective/slicing.h"

namespace rankwire {
namespace {

void validate(const ScheduleRequest& request, const ScheduleOptions& options) {
  constexpr int64_t kLargestMessage = std::numeric_limits<int32_t>::max();
  if (request.position >= request.members || request.root >= request.members)
    fail_input("position {} and root {} must be below the {} members of the group", request.position, request.root,
               request.members);
  if (request.operation == Operation::kPointToPoint && request.members != 2)
    fail_input("a point-to-point operation has 2 members, not {}", request.members);
  if (request.element.count < 1 || request.bytes.count < 0 || request.bytes.count % request.element.count != 0)
    fail_input("{} bytes are not a whole number of elements of {} bytes", request.bytes.count, request.element.count);
  if (options.nccl) {
    validate(*options.nccl);
    constexpr Bytes kLargestElement(4096);
    if (request.element > kLargestElement)
      fail_input("NCCL divides data in elements of at most {} bytes, not {}", kLargestElement.count,
                 request.element.count);
    return;
  }
  if (options.channels < 1 || options.channels > MessageId::kMaxChannels)
    fail_input("channels must be 1 .. {}, not {}", MessageId::kMaxChannels, options.channels);
  if (options.chunk < request.element || options.chunk.count > kLargestMessage)
    fail_input("chunk must be from one element ({} bytes) to {} bytes, not {}", request.element.count, kLargestMessage,
               options.chunk.count);
}

void add_channel(ScheduleBuilder& builder) {
  switch (builder.operation()) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kAllGather:
      return ring_passes(builder);
    case Operation::kBroadcast:
      return ring_broadcast(builder);
    case Operation::kReduce:
      return ring_reduce(builder);
    case Operation::kAllToAll:
      return direct_all_to_all(builder);
    case Operation::kGather:
      return direct_gather(builder);
    case Operation::kScatter:
      return direct_scatter(builder);
    case Operation::kBarrier:
      return dissemination_barrier(builder);
    case Operation::kPointToPoint:
      return point_to_point(builder);
  }
}

}  // namespace

Schedule make_schedule(const ScheduleRequest& request, const ScheduleOptions& options) {
  validate(request, options);
  const Slicing slicing = options.nccl ? nccl_slicing(request, *options.nccl) : plain_slicing(request, options);
  ScheduleBuilder builder(request, slicing);
  for (uint32_t channel = 0; channel < slicing.channels && request.members > 1; ++channel) {
    builder.begin_channel(static_cast<uint8_t>(channel));
    add_channel(builder);
  }
  Schedule schedule = builder.finish();
  if (!options.nccl || !options.nccl->clear_to_send) return schedule;
  return with_clear_to_send(schedule, slicing.messages_in_flight, request.local);
}

}  // namespace rankwire
