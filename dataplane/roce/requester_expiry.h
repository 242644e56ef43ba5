// Requesters that act by themselves, when their deadlines have passed.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/roce_counters.h"

namespace rankwire {

/// Knows when deadlines take effect: a time-out no earlier than LoopWatch::hold_until, since the loop could not look
/// for the answer while it stood still; the end of a wait for the receiver (RNR timer) at its deadline. All that it is
/// made from is borrowed; `paced` is null without congestion control. One thread.
class alignas(64) RequesterExpiry {
 public:
  RequesterExpiry(const LoopWatch& standstills, QueuePairs& pairs, OutboundMessages& outbound,
                  const RequesterDeadlines& deadlines, PacedSenders* paced, CauseWatch& causes, RequesterSteps& steps,
                  RoceCounters& counters)
      : standstills_(standstills),
        requesters_(pairs.tables().requesters),
        outbound_(outbound),
        deadlines_(deadlines),
        paced_(paced),
        causes_(causes),
        steps_(steps),
        counters_(counters) {}

  /// Requesters whose deadlines take effect by `now` act, and RequesterSteps is told. Time-outs are counted.
  void expire(Time now) noexcept;
  /// When the first deadline takes effect, if that is earlier than `before`; otherwise a time from `before` on before
  /// which none does.
  Time earliest(Time before) const noexcept;

 private:
  Time expiry_of(uint32_t queue_pair) const noexcept;

  const LoopWatch& standstills_;
  Requester* const requesters_;
  OutboundMessages& outbound_;
  const RequesterDeadlines& deadlines_;
  PacedSenders* const paced_;
  CauseWatch& causes_;
  RequesterSteps& steps_;
  RoceCounters& counters_;
};

}  // namespace rankwire
