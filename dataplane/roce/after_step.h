// What RoceTransport does after a requester has changed: to be inlined where it has.
#pragma once

#include "dataplane/roce/transport.h"

namespace rankwire {

/// A requester has changed: puts it where its deadline and its turn to send are found.
[[gnu::always_inline]] inline void RoceTransport::after_step(uint32_t queue_pair, Time now,
                                                             Time deadline_before) noexcept {
  const Requester& requester = pairs_->requesters[queue_pair];
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  note_deadline(queue_pair, now, deadline_before);
  watch_->mark(end.lane);
  if (requester.state() == Requester::State::kError || paced_ || causes_.on()) [[unlikely]]
    return after_watched_step(queue_pair, now);
  if (requester.can_send(reliable_) && end.link == LinkState::kOpen) (*lanes_)[end.lane].senders.push(queue_pair);
}

inline void RoceTransport::note_deadline(uint32_t queue_pair, Time now, Time before) noexcept {
  deadlines_.note(queue_pair, now, before, pairs_->requesters[queue_pair].deadline());
}

}  // namespace rankwire
