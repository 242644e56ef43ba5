#include "dataplane/roce/requester_steps.h"

namespace rankwire {

void RequesterSteps::after_watched(uint32_t queue_pair, Time now) noexcept {
  const Requester& requester = tables_.requesters[queue_pair];
  if (requester.state() == Requester::State::kError) return ending_.fail_connection(queue_pair, now);
  if (requester.can_send(reliable_) && tables_.ends[queue_pair].link == LinkState::kOpen) order_.offer(queue_pair, now);
  if (causes_.on()) causes_.note(queue_pair, now);
}

}  // namespace rankwire
