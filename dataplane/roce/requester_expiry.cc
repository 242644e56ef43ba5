#include "dataplane/roce/requester_expiry.h"

#include <algorithm>

#include "dataplane/protocol/requester.h"

namespace rankwire {

Time RequesterExpiry::expiry_of(uint32_t queue_pair) const noexcept {
  const Requester& requester = requesters_[queue_pair];
  const bool is_timeout = (requester.holds() & Requester::kReceiverNotReady) == 0;
  return is_timeout ? std::max(requester.deadline(), standstills_.hold_until()) : requester.deadline();
}

Time RequesterExpiry::earliest(Time before) const noexcept {
  return deadlines_.earliest(before, [this](uint32_t queue_pair) { return expiry_of(queue_pair); });
}

void RequesterExpiry::expire(Time now) noexcept {
  while (earliest(now + Duration(1)) <= now) {
    const uint32_t queue_pair = deadlines_.next([this](uint32_t armed) { return expiry_of(armed); });
    const Time deadline = requesters_[queue_pair].deadline();
    if (requesters_[queue_pair].expire(outbound_.pool) != AckOutcome::kResumed) {
      counters_.count_timeout(queue_pair);
      if (paced_ != nullptr) paced_->control().rewound(queue_pair, now);
      if (causes_.on()) causes_.blame(queue_pair, Cause::kRecovering);
    }
    steps_.after(queue_pair, now, deadline);
  }
}

}  // namespace rankwire
