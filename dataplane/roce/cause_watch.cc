#include "dataplane/roce/cause_watch.h"

#include <optional>

#include "dataplane/protocol/requester.h"

namespace rankwire {

Cause CauseWatch::cause_of(uint32_t queue_pair) const noexcept {
  const Requester& requester = pairs_.requesters[queue_pair];
  if (requester.holds() & Requester::kReceiverNotReady) return Cause::kReceiverNotReady;
  if (requester.next_psn() != requester.end_psn()) return Cause::kRecovering;
  if (requester.can_send(reliable_))
    // Held from outside is as if others, which no wire carries, had the line.
    return paced_ != nullptr && !paced_->is_queued(queue_pair) && !paced_->waits_for_hold(queue_pair)
               ? Cause::kCongestionControl
               : Cause::kPort;
  return requester.holds() & Requester::kNothingToSend ? Cause::kAcknowledgement : Cause::kWindow;
}

void CauseWatch::note(uint32_t queue_pair, Time now) noexcept {
  const Duration paused = time_paused(queue_pair, now);
  accounts_.note(queue_pair, pairs_.requesters[queue_pair].idle() ? std::nullopt : std::optional(cause_of(queue_pair)),
                 now, paused);
}

void CauseWatch::note_transmission(uint32_t queue_pair, Duration line_time, Time now, bool again) noexcept {
  note(queue_pair, now);
  accounts_.transmit(queue_pair, line_time, now, again);
}

void CauseWatch::stop(uint32_t queue_pair, Time now) noexcept {
  accounts_.note(queue_pair, std::nullopt, now, time_paused(queue_pair, now));
}

TimeByCause CauseWatch::take_share(uint32_t queue_pair, Time now) noexcept {
  if (!pairs_.ends[queue_pair].failed) note(queue_pair, now);
  return accounts_.take_share(queue_pair, now, time_paused(queue_pair, now));
}

TimeByCause CauseWatch::read(uint32_t queue_pair, Time now) const noexcept {
  return accounts_.read(queue_pair, now, time_paused(queue_pair, now));
}

}  // namespace rankwire
