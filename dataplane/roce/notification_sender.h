// The answers to marked packets.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/mark_responder.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/roce_counters.h"

namespace rankwire {

/// Sends the CNPs that are owed for marked packets. All that it is made from is borrowed. One thread.
class NotificationSender {
 public:
  /// `hop_limit`: of CNPs.
  NotificationSender(uint8_t hop_limit, QueuePairs& pairs, Lanes& lanes, LaneWatch& watch, MarkResponder& marks,
                     RoceCounters& counters)
      : hop_limit_(hop_limit), pairs_(pairs), lanes_(lanes), watch_(watch), marks_(marks), counters_(counters) {}

  /// A data packet for the queue pair was marked on its way.
  void on_mark(uint32_t queue_pair, Time arrival) noexcept;
  /// Stages what the lane owes, as far as it may send and has frames.
  void transmit(uint32_t lane, Time now) noexcept;

 private:
  const uint8_t hop_limit_;
  QueuePairs& pairs_;
  Lanes& lanes_;
  LaneWatch& watch_;
  MarkResponder& marks_;
  RoceCounters& counters_;
};

}  // namespace rankwire
