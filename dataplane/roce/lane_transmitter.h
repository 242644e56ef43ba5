// What a lane sends, and in which order.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/answer_sender.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/notification_sender.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/port.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/request_sender.h"
#include "dataplane/roce/request_turns.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/send_order.h"
#include "dataplane/roce/transmit_lane.h"

namespace rankwire {

/// Gives the slots of a lane's line away: pauses, neighbour discovery, congestion notifications, acknowledgements, then
/// READ responses and requests, whose turns alternate. Pauses of the far end hold what they are for. All that it is
/// made from is borrowed; `paced` is null without congestion control, `notices` where marked packets are not answered.
/// One thread.
class alignas(64) LaneTransmitter {
 public:
  LaneTransmitter(const RoceOptions& options, const ReliableOptions& reliable, QueuePairs& pairs, Lanes& lanes,
                  PacedSenders* paced, SendOrder& order, AnswerSender& answers, RequestSender& sender,
                  RequestTurns& turns, NotificationSender* notices, RoceCounters& counters)
      : turn_(options.turn),
        reliable_(reliable),
        pairs_(pairs),
        lanes_(lanes),
        paced_(paced),
        order_(order),
        answers_(answers),
        sender_(sender),
        turns_(turns),
        notices_(notices),
        counters_(counters) {}

  /// Hands to the lane's port what may start by `now`: a burst at most.
  void transmit(uint32_t lane, Time now) noexcept;

 private:
  void transmit_pause(TransmitLane& lane, RocePort& port, Time now) noexcept;
  void transmit_discovery(TransmitLane& lane, Neighbours& neighbours, Time now) noexcept;
  bool transmit_next(TransmitLane& lane, Time now) noexcept;
  bool transmit_controlled(TransmitLane& lane, Time now) noexcept;

  const uint32_t turn_;
  const ReliableOptions& reliable_;
  QueuePairs& pairs_;
  Lanes& lanes_;
  PacedSenders* const paced_;
  SendOrder& order_;
  AnswerSender& answers_;
  RequestSender& sender_;
  RequestTurns& turns_;
  NotificationSender* const notices_;
  RoceCounters& counters_;
};

}  // namespace rankwire
