#include "dataplane/roce/connection_holds.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rankwire {

std::unique_ptr<RateHolds> make_rate_holds(const RoceOptions& options, const QueuePairs& pairs) {
  if (!options.held) return nullptr;
  std::map<ConnectionId, uint32_t> known;
  std::vector<uint32_t> hold_of;
  for (const QueuePairEnd& end : pairs.ends) {
    const bool sends = end.outbound.valid() && !pairs.connections[end.outbound.value].control;
    hold_of.push_back(sends ? known.try_emplace(end.outbound, static_cast<uint32_t>(known.size())).first->second
                            : RateHolds::kNone);
  }
  return std::make_unique<RateHolds>(std::move(hold_of), static_cast<uint32_t>(known.size()), options.catch_up);
}

void ConnectionHolds::hold(ConnectionId connection, Bandwidth rate, Time now) noexcept {
  const uint32_t first = pairs_.connections[connection.value].source;
  if (first == QueuePairs::kNone || holds_.hold_of(first) == RateHolds::kNone) return;
  if (!holds_.set(holds_.hold_of(first), rate, now)) return;
  for (uint32_t i = first; i < first + options_.queue_pairs; ++i)
    if (paced_.renew(i, pairs_.ends[i].lane, now)) watch_.mark(pairs_.ends[i].lane);
}

}  // namespace rankwire
