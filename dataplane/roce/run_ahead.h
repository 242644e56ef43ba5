// Lanes that run ahead in virtual time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/lane_loop.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/report_forecast.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/requester_expiry.h"

namespace rankwire {

/// Lanes have nothing to do with each other until the application hears of something, so each may go on alone to the
/// first time at which that can happen, and finds what it works with in the caches. Frames that a lane sends reach
/// another no sooner than at the caller's limit. All that it is made from is borrowed. One thread.
class RunAhead {
 public:
  RunAhead(const ReliableOptions& reliable, LoopWatch& standstills, QueuePairs& pairs, Lanes& lanes, LaneWatch& watch,
           const OutboundMessages& outbound, RequesterDeadlines& deadlines, const RequesterExpiry& expiry,
           const ReportForecast& forecast, LaneLoop& loop)
      : step_(std::min(first_timeout(reliable), kLongestStep)),
        standstills_(standstills),
        tables_(pairs.tables()),
        lanes_(lanes),
        watch_(watch),
        outbound_(outbound),
        deadlines_(deadlines),
        expiry_(expiry),
        forecast_(forecast),
        loop_(loop) {}

  /// As Transport::run_ahead, where bells tell which lanes have something to do; elsewhere nothing is done.
  Time run(Time limit) noexcept;

 private:
  // Lanes go on alone for one time-out at most, so that none that begins meanwhile ends unnoticed. RNR timers may be
  // shorter, but the NAK that starts one ends the step before it is received (ReportForecast). This is for time-outs
  // that are longer, or max(), to which nothing can be added. It bounds by how much lanes arm deadlines out of order,
  // which is how far RequesterDeadlines searches its lists. Most steps end sooner, at the caller's limit.
  static constexpr Duration kLongestStep = milliseconds(1);

  void run_lanes(Time next, Time end) noexcept;
  Time run_lane(uint32_t lane, Time end, Time& now) noexcept;
  void fetch_ahead(uint32_t lane, size_t distance) const noexcept;
  void fetch_lane(uint32_t lane) const noexcept;
  void fetch_sender(uint32_t lane) const noexcept;

  const Duration step_;
  LoopWatch& standstills_;
  const QueuePairTables tables_;
  Lanes& lanes_;
  LaneWatch& watch_;
  const OutboundMessages& outbound_;
  RequesterDeadlines& deadlines_;
  const RequesterExpiry& expiry_;
  const ReportForecast& forecast_;
  LaneLoop& loop_;
};

}  // namespace rankwire
