// Who has the next turn to send.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/roce_counters.h"

namespace rankwire {

/// Puts queue pairs into the queues of their lanes: those that have requests to send, and those that owe answers. With
/// congestion control a queue pair that has READs to answer or requests to send is queued when it may send, which
/// `paced` knows; without (null) at once. All that it is made from is borrowed. One thread.
class SendOrder {
 public:
  SendOrder(const ReliableOptions& reliable, QueuePairs& pairs, Lanes& lanes, LaneWatch& watch, PacedSenders* paced,
            CauseWatch& causes, RoceCounters& counters)
      : reliable_(reliable),
        pairs_(pairs),
        lanes_(lanes),
        watch_(watch),
        paced_(paced),
        causes_(causes),
        counters_(counters) {}

  /// The queue pair, whose link is open, has something to send.
  void offer(uint32_t queue_pair, Time now) noexcept;
  /// Queues what the responder owes, if the peer can be reached.
  void owe_answer(uint32_t queue_pair, Time now) noexcept;

  // With congestion control.
  /// The queue pair is neither queued nor does it wait: whichever it must.
  void place(uint32_t queue_pair, Time now) noexcept;
  /// Places those of the lane whose time has come.
  void release(uint32_t lane, Time now) noexcept {
    for (uint32_t queue_pair; (queue_pair = paced_->take(lane, now)) != PacedSenders::kNone;) place(queue_pair, now);
  }

 private:
  const ReliableOptions& reliable_;
  QueuePairs& pairs_;
  Lanes& lanes_;
  LaneWatch& watch_;
  PacedSenders* const paced_;
  CauseWatch& causes_;
  RoceCounters& counters_;
};

}  // namespace rankwire
