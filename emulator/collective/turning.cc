#include "emulator/collective/turning.h"

#include <algorithm>

#include "emulator/collective/algorithm_table.h"
#include "emulator/collective/nccl_tuning.h"

namespace rankwire {
namespace {

/// How the operation is carried out.
Algorithm algorithm_of(const ScheduleRequest& request, const ScheduleOptions& options) {
  const Algorithm told = options.algorithm(request.operation);
  const bool chooses = options.nccl && default_algorithm(request.operation) == Algorithm::kRing;
  return chooses ? nccl_choice(request, *options.nccl, told).algorithm : told;
}

/// Of one member a distance further, an algorithm that names its peers by distance does the same.
bool names_distances(const ScheduleRequest& request, const ScheduleOptions& options) {
  switch (algorithm_of(request, options)) {
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

}  // namespace

bool may_turn(const ScheduleRequest& request, const ScheduleOptions& options) {
  if (!request.blocks.empty() || !names_distances(request, options)) return false;
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
  if (!may_turn(request, options)) return false;
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
