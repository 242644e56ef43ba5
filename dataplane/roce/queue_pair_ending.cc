#include "dataplane/roce/queue_pair_ending.h"

namespace rankwire {

void QueuePairEnding::fail(uint32_t queue_pair, Time now) noexcept {
  QueuePairEnd& end = pairs_.ends[queue_pair];
  if (end.failed) return;
  end.failed = true;
  deadlines_.disarm(queue_pair);
  drop_early(queue_pair);
  if (causes_.on()) causes_.stop(queue_pair, now);
  if (pairs_.requesters[queue_pair].state() != Requester::State::kError)
    pairs_.requesters[queue_pair].fail(outbound_.pool, Failure::kFlushed);
  const Failure failure = end.link == LinkState::kUnreachable ? Failure::kUnreachable : Failure::kFlushed;
  outbound_.close_offers(queue_pair, failure);
}

void QueuePairEnding::fail_connection(uint32_t queue_pair, Time now) noexcept {
  const ConnectionId connection = pairs_.ends[queue_pair].connection;
  const ConnectionEnds& ends = pairs_.connections[connection.value];
  const uint32_t members = pairs_.is_split(ends) ? options_.queue_pairs : 1;
  for (const uint32_t side : {ends.source, ends.destination}) {
    if (side == QueuePairs::kNone) continue;
    const uint32_t first = members > 1 ? side : side + pairs_.ends[queue_pair].member;
    for (uint32_t i = 0; i < members; ++i) fail(first + i, now);
  }
  if (members > 1) deliveries_.forget(connection);
}

void QueuePairEnding::drop_early(uint32_t queue_pair) noexcept {
  if (early_ == nullptr) return;
  for (EarlyPacket early; early_->take(queue_pair, early);) lanes_[early.lane].port().release({&early.frame, 1});
}

}  // namespace rankwire
