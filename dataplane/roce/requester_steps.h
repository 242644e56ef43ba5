// What follows when a requester has changed.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pair_ending.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/send_order.h"

namespace rankwire {

/// Whoever changes a requester tells it here, but for packets that it sends in its turn, which change at most its
/// deadline (`note_deadline`) and whether it goes on, as the turn sees by itself: its deadline and its turn to send are
/// put where they are found, its failure ends its connection. Deadlines that pass change it, too. All that it is made
/// from is borrowed; `paced` is null without congestion control. One thread.
class alignas(64) RequesterSteps {
 public:
  RequesterSteps(const ReliableOptions& reliable, const LoopWatch& standstills, QueuePairs& pairs, Lanes& lanes,
                 LaneWatch& watch, OutboundMessages& outbound, RequesterDeadlines& deadlines, PacedSenders* paced,
                 CauseWatch& causes, SendOrder& order, QueuePairEnding& ending, RoceCounters& counters)
      : reliable_(reliable),
        standstills_(standstills),
        tables_(pairs.tables()),
        lanes_(lanes),
        watch_(watch),
        outbound_(outbound),
        deadlines_(deadlines),
        paced_(paced),
        causes_(causes),
        order_(order),
        ending_(ending),
        counters_(counters),
        watched_(paced != nullptr || causes.on()) {}

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
  /// The same when nothing but its deadline may have changed.
  void note_deadline(uint32_t queue_pair, Time now, Time before) noexcept {
    deadlines_.note(queue_pair, now, before, tables_.requesters[queue_pair].deadline());
  }

  /// Requesters whose deadlines take effect by `now` act.
  void expire(Time now) noexcept;
  /// When the first deadline takes effect, if that is `before`; otherwise no earlier. A time-out does so later after a
  /// standstill of the loop.
  Time earliest_expiry(Time before) const noexcept;

 private:
  void after_watched(uint32_t queue_pair, Time now) noexcept;
  Time expiry(uint32_t queue_pair) const noexcept;

  const ReliableOptions& reliable_;
  const LoopWatch& standstills_;
  const QueuePairTables tables_;
  Lanes& lanes_;
  LaneWatch& watch_;
  OutboundMessages& outbound_;
  RequesterDeadlines& deadlines_;
  PacedSenders* const paced_;
  CauseWatch& causes_;
  SendOrder& order_;
  QueuePairEnding& ending_;
  RoceCounters& counters_;
  const bool watched_;  // something else looks at what it sends, too
};

}  // namespace rankwire
