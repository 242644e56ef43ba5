#include "emulator/collective/turning.h"

#include <algorithm>

namespace rankwire {
namespace {

/// Of one member a distance further, an algorithm that names its peers by distance does the same.
bool names_distances(const ScheduleRequest& request, const ScheduleOptions& options) {
  switch (options.algorithm(request.operation)) {
    case Algorithm::kAuto:
    case Algorithm::kRing:
      return options.ring_order == RingOrder::kAscending || options.ring_order == RingOrder::kDescending;
    case Algorithm::kDirect:
    case Algorithm::kBruck:
      return true;
    default:
      return false;
  }
}

/// By the algorithm's rules alone.
bool knows_only_distances(const ScheduleRequest& request, const ScheduleOptions& options) {
  if (options.nccl || !names_distances(request, options)) return false;  // with NCCL, who stands on one host matters
  if (!request.blocks.empty()) return false;
  switch (request.operation) {
    case Operation::kAllGather:
    case Operation::kBarrier:
      return true;
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return request.bytes.count % (request.members * request.element.count) == 0;
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kGather:
    case Operation::kScatter:
    case Operation::kPointToPoint:
      return false;
  }
  return false;
}

}  // namespace

bool is_turned(const Schedule& first, const Schedule& turned, uint32_t distance, uint32_t members) {
  const auto same = [&](const Step& a, const Step& b) {
    return a.kind == b.kind && a.channel == b.channel && a.step == b.step && a.slice == b.slice &&
           a.control == b.control && turned_peer(a.peer, distance, members) == b.peer && a.bytes == b.bytes &&
           a.message == b.message;
  };
  return std::ranges::equal(first.steps, turned.steps, same) && first.predecessors == turned.predecessors &&
         first.successor_begin == turned.successor_begin && first.successors == turned.successors;
}

bool turns(const ScheduleRequest& request, const ScheduleOptions& options, const Schedule& first) {
  if (!knows_only_distances(request, options)) return false;
  ScheduleRequest other = request;
  const auto agrees = [&](uint32_t position) {
    other.position = position;
    return is_turned(first, make_schedule(other, options), position, request.members);
  };
  for (uint64_t position = 1; position + 1 < request.members; position *= 2)
    if (!agrees(static_cast<uint32_t>(position))) return false;
  return request.members < 2 || agrees(request.members - 1);
}

}  // namespace rankwire
