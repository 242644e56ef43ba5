// Connections that are held to rates from outside.
#pragma once

#include <memory>

#include "base/id.h"
#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/congestion/rate_holds.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/queue_pairs.h"

namespace rankwire {

/// A hold for each connection, whose queue pairs have it together; null where nothing is held.
std::unique_ptr<RateHolds> make_rate_holds(const RoceOptions& options, const QueuePairs& pairs);

/// Tells the senders of a connection what it may send. All that it is made from is borrowed. One thread.
class ConnectionHolds {
 public:
  ConnectionHolds(const RoceOptions& options, const QueuePairs& pairs, LaneWatch& watch, RateHolds& holds,
                  PacedSenders& paced)
      : options_(options), pairs_(pairs), watch_(watch), holds_(holds), paced_(paced) {}

  /// As HeldSenders. Of a connection whose source is not here nothing happens.
  void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept;

 private:
  const RoceOptions& options_;
  const QueuePairs& pairs_;
  LaneWatch& watch_;
  RateHolds& holds_;
  PacedSenders& paced_;
};

}  // namespace rankwire
