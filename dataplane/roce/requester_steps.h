// What follows when a requester has changed.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/queue_pair_ending.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/send_order.h"

namespace rankwire {

/// Whoever changes a requester tells this part. It notes the requester's deadline, marks its lane, queues the queue
/// pair for its turn if it can send, and ends the connection of a requester that has failed. Only a turn to send sees
/// by itself whether its queue pair goes on: it tells the deadline alone (`note_deadline`), where that may have
/// changed. All that it is made from is borrowed. One thread.
class alignas(64) RequesterSteps {
 public:
  /// `paced`: with congestion control.
  RequesterSteps(const ReliableOptions& reliable, QueuePairs& pairs, Lanes& lanes, LaneWatch& watch,
                 RequesterDeadlines& deadlines, bool paced, CauseWatch& causes, SendOrder& order,
                 QueuePairEnding& ending)
      : reliable_(reliable),
        tables_(pairs.tables()),
        lanes_(lanes),
        watch_(watch),
        deadlines_(deadlines),
        causes_(causes),
        order_(order),
        ending_(ending),
        watched_(paced || causes.on()) {}

  /// The requester has changed; its deadline was `deadline_before`.
  [[gnu::always_inline]] void after(uint32_t queue_pair, Time now, Time deadline_before) noexcept {
    const Requester& requester = tables_.requesters[queue_pair];
    const QueuePairEnd& end = tables_.ends[queue_pair];
    note_deadline(queue_pair, now, deadline_before);
    watch_.mark(end.lane);
    if (requester.state() == Requester::State::kError || watched_) [[unlikely]]
      return after_watched(queue_pair, now);
    if (requester.can_send(reliable_) && end.link == LinkState::kOpen) lanes_[end.lane].senders.push(queue_pair);
  }
  /// Nothing but its deadline may have changed, which was `before`.
  void note_deadline(uint32_t queue_pair, Time now, Time before) noexcept {
    deadlines_.note(queue_pair, now, before, tables_.requesters[queue_pair].deadline());
  }

 private:
  void after_watched(uint32_t queue_pair, Time now) noexcept;

  const ReliableOptions& reliable_;
  const QueuePairTables tables_;
  Lanes& lanes_;
  LaneWatch& watch_;
  RequesterDeadlines& deadlines_;
  CauseWatch& causes_;
  SendOrder& order_;
  QueuePairEnding& ending_;
  const bool watched_;  // something else looks at what it sends, too
};

}  // namespace rankwire
