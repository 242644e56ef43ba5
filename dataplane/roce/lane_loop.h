// The turns of the loop.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/frame_receiver.h"
#include "dataplane/roce/lane_transmitter.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/link_keeper.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/rate_series.h"
#include "dataplane/roce/report_forecast.h"
#include "dataplane/roce/request_receiver.h"
#include "dataplane/roce/requester_expiry.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/sent_reports.h"

namespace rankwire {

/// In a turn lanes receive, deadlines that have passed take effect, and lanes transmit: all of them, or, where bells
/// tell, those that have something to do. The application may post between the two halves of a turn. Knows when there
/// is something to do next. All that it is made from is borrowed; `paced` is null without congestion control. One
/// thread.
class alignas(64) LaneLoop {
 public:
  LaneLoop(const RoceOptions& options, LoopWatch& standstills, Lanes& lanes, LaneWatch& watch,
           const PacedSenders* paced, const Deliveries& deliveries, const SentReports& reports,
           const ReportForecast& forecast, RequesterExpiry& expiry, LinkKeeper& links, RequestReceiver& requests,
           FrameReceiver& receiver, LaneTransmitter& transmitter, const RoceCounters& counters)
      : resolves_(options.neighbours == NeighbourMode::kResolve),
        lane_count_(lanes.size()),
        standstills_(standstills),
        lanes_(lanes),
        watch_(watch),
        paced_(paced),
        deliveries_(deliveries),
        reports_(reports),
        forecast_(forecast),
        expiry_(expiry),
        links_(links),
        requests_(requests),
        receiver_(receiver),
        transmitter_(transmitter),
        counters_(counters),
        tally_(options.tally),
        rates_(options.rates),
        counts_(!tally_.empty() || rates_ != nullptr) {}

  /// A turn at `now`, which never decreases.
  void turn(Time now) noexcept {
    receive(now);
    transmit(now);
  }
  /// Its first half: lanes receive, and deadlines pass.
  void receive(Time now) noexcept;
  /// Its second half.
  void transmit(Time now) noexcept;
  /// A lane's part of either half, at a `now` which may run ahead of the turns'.
  void receive_lane(uint32_t lane, Time now) noexcept {
    receiver_.receive(lane, now);
    if (counts_ && counters_.totals.bytes_rx != counted_.rx_bytes) count_received(lane, now);
  }
  void transmit_lane(uint32_t lane, Time now) noexcept {
    transmitter_.transmit(lane, now);
    if (counts_ && counters_.totals.bytes_tx != counted_.tx_bytes) count_sent(lane, now);
  }
  /// Something was posted at `now`.
  void note_post(Time now) noexcept { now_ = now; }
  /// All turns up to `now` are done.
  void skip_to(Time now) noexcept {
    now_ = now;
    standstills_.skip_to(now);
  }
  /// The `now` of the last of these three, as of which others are asked; long_ago() before the first.
  Time now() const noexcept { return now_; }

  /// Whether there are events for the application, or packets that wait until it has taken some.
  bool has_to_report() const noexcept;
  /// When the next turn has something to do, or to report.
  Time next_event() const noexcept;
  /// When the lane has something to receive or to send, as far as it is known now.
  Time next_event_of(uint32_t lane) const noexcept;

 private:
  void receive_due(Time now) noexcept;
  void count_received(uint32_t lane, Time now) noexcept;
  void count_sent(uint32_t lane, Time now) noexcept;

  const bool resolves_;
  const uint32_t lane_count_;
  LoopWatch& standstills_;
  Lanes& lanes_;
  LaneWatch& watch_;
  const PacedSenders* const paced_;
  const Deliveries& deliveries_;
  const SentReports& reports_;
  const ReportForecast& forecast_;
  RequesterExpiry& expiry_;
  LinkKeeper& links_;
  RequestReceiver& requests_;
  FrameReceiver& receiver_;
  LaneTransmitter& transmitter_;
  const RoceCounters& counters_;
  const std::span<PortTally> tally_;
  RateSeries* const rates_;
  const bool counts_;  ///< what passes, by port
  PortTally counted_;  ///< of all ports, up to the last turn in which something passed
  Time now_ = Time::long_ago();
};

}  // namespace rankwire
