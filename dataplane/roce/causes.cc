// RoceTransport's account of where the time of its queue pairs goes.
#include <optional>

#include "dataplane/roce/transport.h"

namespace rankwire {

Duration RoceTransport::time_paused(uint32_t queue_pair, Time now) const noexcept {
  return lanes_->time_paused(pairs_->ends[queue_pair].lane, now);
}

// Pauses and transmissions apart, which are known by their durations.
Cause RoceTransport::cause_of(uint32_t queue_pair) const noexcept {
  const Requester& requester = pairs_->requesters[queue_pair];
  if (requester.holds() & Requester::kReceiverNotReady) return Cause::kReceiverNotReady;
  if (requester.next_psn() != requester.end_psn()) return Cause::kRecovering;
  if (requester.can_send(reliable_))
    return paced_ && !paced_->is_queued(queue_pair) ? Cause::kCongestionControl : Cause::kPort;
  return requester.holds() & Requester::kNothingToSend ? Cause::kAcknowledgement : Cause::kWindow;
}

// Something about the queue pair has changed. Only when causes are recorded, like the next.
void RoceTransport::note_cause(uint32_t queue_pair, Time now) noexcept {
  const Duration paused = time_paused(queue_pair, now);
  causes_.note(queue_pair, pairs_->requesters[queue_pair].idle() ? std::nullopt : std::optional(cause_of(queue_pair)),
               now, paused);
}

void RoceTransport::note_transmission(uint32_t queue_pair, Duration line_time, Time now) noexcept {
  note_cause(queue_pair, now);
  causes_.transmit(queue_pair, line_time, now);
}

// What the queue pair's clock has run since a message ended there last.
TimeByCause RoceTransport::take_share(uint32_t queue_pair) noexcept {
  // What has been told is not charged to anything else any more.
  if (!pairs_->ends[queue_pair].failed) note_cause(queue_pair, last_now_);
  return causes_.take_share(queue_pair, last_now_, time_paused(queue_pair, last_now_));
}

}  // namespace rankwire
