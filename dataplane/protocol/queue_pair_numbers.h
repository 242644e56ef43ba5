// Which queue pairs a connection has: known from the plan, so that whoever needs their numbers needs no transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/transport.h"

namespace rankwire {

/// The numbers of the first queue pair of a connection at its two ends; those of its others follow. `kNone` at an end
/// that is not here.
struct QueuePairNumbers {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kFirst = 0x10;  ///< of all; 0 and 1 are management's (IBTA 3.5.3)

  uint32_t source = kNone, destination = kNone;
};

/// The queue pairs of a transport that has the ends of those connections but local ones whose NICs are `here`:
/// `queue_pairs` for each source in the order of the connections, then for each destination. A reverse connection
/// (Connection::reverse_of) has those of the other, the other way. By connection. Numbers have 24 bits only as long as
/// `count_queue_pairs` of the same is at most 2^24 - 1 - kFirst.
std::vector<QueuePairNumbers> number_queue_pairs(const TransportPlan& plan, uint32_t queue_pairs,
                                                 const std::function<bool(NicId)>& here);
size_t count_queue_pairs(const TransportPlan& plan, uint32_t queue_pairs, const std::function<bool(NicId)>& here);

}  // namespace rankwire
