#include "dataplane/roce/requester_steps.h"

#include <algorithm>

namespace rankwire {

void RequesterSteps::after_watched(uint32_t queue_pair, Time now) noexcept {
  const Requester& requester = tables_.requesters[queue_pair];
  if (requester.state() == Requester::State::kError) return ending_.fail_connection(queue_pair, now);
  if (requester.can_send(reliable_) && tables_.ends[queue_pair].link == LinkState::kOpen) order_.offer(queue_pair, now);
  if (causes_.on()) causes_.note(queue_pair, now);
}

Time RequesterSteps::expiry(uint32_t queue_pair) const noexcept {
  const Requester& requester = tables_.requesters[queue_pair];
  const bool is_timeout = (requester.holds() & Requester::kReceiverNotReady) == 0;
  return is_timeout ? std::max(requester.deadline(), standstills_.hold_until()) : requester.deadline();
}

Time RequesterSteps::earliest_expiry(Time before) const noexcept {
  return deadlines_.earliest(before, [this](uint32_t queue_pair) { return expiry(queue_pair); });
}

void RequesterSteps::expire(Time now) noexcept {
  while (earliest_expiry(now + Duration(1)) <= now) {
    const uint32_t queue_pair = deadlines_.next([this](uint32_t armed) { return expiry(armed); });
    const Time deadline = tables_.requesters[queue_pair].deadline();
    if (tables_.requesters[queue_pair].expire(outbound_.pool) != AckOutcome::kResumed) {
      counters_.count_timeout(queue_pair);
      if (paced_ != nullptr) paced_->control().rewound(queue_pair, now);
      if (causes_.on()) causes_.blame(queue_pair, Cause::kRecovering);
    }
    after(queue_pair, now, deadline);
  }
}

}  // namespace rankwire
