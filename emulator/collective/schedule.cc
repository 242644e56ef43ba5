#include "emulator/collective/schedule.h"

#include <limits>

#include "base/error.h"
#include "base/message.h"
#include "emulator/collective/algorithms.h"

namespace rankwire {
namespace {

void validate(const ScheduleRequest& request, const ScheduleOptions& options) {
  constexpr int64_t kLargestMessage = std::numeric_limits<int32_t>::max();
  if (request.position >= request.members || request.root >= request.members)
    fail_input("position {} and root {} must be below the {} members of the group", request.position, request.root,
               request.members);
  if (request.operation == Operation::kPointToPoint && request.members != 2)
    fail_input("a point-to-point operation has 2 members, not {}", request.members);
  if (options.channels < 1 || options.channels > MessageId::kMaxChannels)
    fail_input("channels must be 1 .. {}, not {}", MessageId::kMaxChannels, options.channels);
  if (request.element.count < 1 || request.bytes.count < 0 || request.bytes.count % request.element.count != 0)
    fail_input("{} bytes are not a whole number of elements of {} bytes", request.bytes.count, request.element.count);
  if (options.chunk < request.element || options.chunk.count > kLargestMessage)
    fail_input("chunk must be from one element ({} bytes) to {} bytes, not {}", request.element.count, kLargestMessage,
               options.chunk.count);
}

void add_channel(Operation operation, ScheduleBuilder& builder) {
  switch (operation) {
    case Operation::kAllReduce:
      return ring_all_reduce(builder);
    case Operation::kReduceScatter:
      ring_reduce_scatter(builder, builder.parts());
      return;
    case Operation::kAllGather:
      return ring_all_gather(builder, builder.inputs(), 0, {});
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
  ScheduleBuilder builder(request, options);
  const uint32_t channels = request.operation == Operation::kBarrier ? 1 : options.channels;
  for (uint32_t channel = 0; channel < channels && request.members > 1; ++channel) {
    builder.begin_channel(static_cast<uint8_t>(channel));
    add_channel(request.operation, builder);
  }
  return builder.finish();
}

}  // namespace rankwire
