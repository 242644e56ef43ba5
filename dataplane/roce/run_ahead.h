// Lanes that run ahead in virtual time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/frame_receiver.h"
#include "dataplane/roce/lane_loop.h"
#include "dataplane/roce/lane_transmitter.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/report_forecast.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/requester_steps.h"

namespace rankwire {

/// Lanes have nothing to do with each other until the application hears of something, so each may go on alone to the
/// first time at which that can happen, and finds what it works with in the caches. All that it is made from is
/// borrowed. One thread.
class RunAhead {
 public:
  RunAhead(const ReliableOptions& reliable, LoopWatch& standstills, QueuePairs& pairs, Lanes& lanes, LaneWatch& watch,
           const OutboundMessages& outbound, RequesterDeadlines& deadlines, const RequesterSteps& steps,
           const ReportForecast& forecast, FrameReceiver& receiver, LaneTransmitter& transmitter, LaneLoop& loop)
      : step_(std::min(first_timeout(reliable), kLongest)),
        standstills_(standstills),
        tables_(pairs.tables()),
        lanes_(lanes),
        watch_(watch),
        outbound_(outbound),
        deadlines_(deadlines),
        steps_(steps),
        forecast_(forecast),
        receiver_(receiver),
        transmitter_(transmitter),
        loop_(loop) {}

  /// As Transport::run_ahead, where bells tell which lanes have something to do; elsewhere nothing is done.
  Time run(Time limit) noexcept;

 private:
  void run_lanes(Time next, Time end) noexcept;
  Time run_lane(uint32_t lane, Time end, Time& now) noexcept;
  void fetch_ahead(uint32_t lane, size_t distance) const noexcept;
  void fetch_lane(uint32_t lane) const noexcept;
  void fetch_sender(uint32_t lane) const noexcept;

  // For how long lanes go on alone at most: as far apart in time as they may then be, deadlines that they set are out
  // of order (RequesterDeadlines::allow_disorder), and the search for the first one looks so much further. It bounds
  // `step_` where the shortest time-out is longer, or there is none.
  static constexpr Duration kLongest = milliseconds(1);

  const Duration step_;  // no deadline that a requester gets meanwhile takes effect sooner
  LoopWatch& standstills_;
  const QueuePairTables tables_;
  Lanes& lanes_;
  LaneWatch& watch_;
  const OutboundMessages& outbound_;
  RequesterDeadlines& deadlines_;
  const RequesterSteps& steps_;
  const ReportForecast& forecast_;
  FrameReceiver& receiver_;
  LaneTransmitter& transmitter_;
  LaneLoop& loop_;
};

}  // namespace rankwire
