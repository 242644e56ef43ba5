// When queue pairs send under congestion control.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "dataplane/congestion/allowance_series.h"
#include "dataplane/congestion/control.h"
#include "dataplane/congestion/rate_holds.h"
#include "dataplane/congestion/timing_wheel.h"

namespace rankwire {

struct PacingOptions {
  uint32_t mtu = 4096;                ///< what a packet counts in windows
  uint32_t burst = 1;                 ///< packets sent one behind the other below line rate, >= 1
  Duration catch_up;                  ///< how far behind its schedule a queue pair may be and still catch up, >= 0
  AllowanceSeries* series = nullptr;  ///< is told what changes; borrowed
  RateHolds* holds = nullptr;         ///< rates from outside, which hold beside those of the control; borrowed
};

/// Holds the queue pairs of a transport to what their congestion control allows. One that may send is queued for its
/// turn by the caller; one whose rate is below its line's waits, between bursts, in its lane's wheel.
///
/// The schedule of a queue pair is absolute: a packet of n bytes on the line puts it off by n / rate, whenever the
/// packet was sent, so the mean rate is exact; what is late by more than `catch_up` is lost for good. It slips when the
/// caller looks too late at one whose time has come, and is displaced when one that is queued does not get its turn:
/// then others, or a pause, have the line. While a queue pair has nothing to send, or its window is closed, no credit
/// adds up. A rate that changes during a wait stretches or shortens what is left of it.
///
/// Who is held from outside (RateHolds) sends a packet at a time, when both schedules let it, and waits in the same
/// wheel.
///
/// `lane` is an index, always the same of a queue pair. No allocation after construction; one thread.
class PacedSenders {
 public:
  static constexpr uint32_t kNone = TimingWheel::kNone;

  /// `lines`: the line rate of each queue pair.
  PacedSenders(std::unique_ptr<CongestionControl> control, const PacingOptions& options,
               std::span<const Bandwidth> lines, uint32_t lanes);
  PacedSenders(const PacedSenders&) = delete;
  PacedSenders& operator=(const PacedSenders&) = delete;

  CongestionControl& control() noexcept { return *control_; }

  /// The queue pair, which has `in_flight` unacknowledged packets, has something to send. Whether it is to be queued
  /// for a turn now, or is already; otherwise it waits for its time or its window.
  bool offer(uint32_t queue_pair, uint32_t lane, uint32_t in_flight, Time now) noexcept;
  /// The same when its turn has ended or `take` returned it: it is not queued.
  bool place(uint32_t queue_pair, uint32_t lane, uint32_t in_flight, Time now) noexcept;
  /// Its hold lets it send sooner than before. Whether it waits, and is to be looked at now: `take` returns it.
  bool renew(uint32_t queue_pair, uint32_t lane, Time now) noexcept;
  /// It is not queued, and has nothing to send.
  void rest(uint32_t queue_pair) noexcept { flows_[queue_pair].state = State::kIdle; }

  /// How many packets it may send now, at most `limit`.
  uint32_t packets(uint32_t queue_pair, uint32_t in_flight, uint32_t limit, Time now) noexcept;
  /// It has sent `packets` of them, which take `on_line`.
  void sent(uint32_t queue_pair, uint32_t packets, Bytes on_line, Time now) noexcept;

  /// A queue pair that is to be looked at anew, by `place` or `rest`; kNone: none now.
  uint32_t take(uint32_t lane, Time now) noexcept;
  /// Whether it waits for its turn, neither for its time nor for its window.
  bool is_queued(uint32_t queue_pair) const noexcept { return flows_[queue_pair].state == State::kQueued; }
  /// Whether it waits for its time by what holds it from outside, and not by its congestion control.
  bool waits_for_hold(uint32_t queue_pair) const noexcept {
    const Flow& flow = flows_[queue_pair];
    return flow.state == State::kWaiting && held_until(queue_pair) > (is_paced(flow) ? flow.next : Time::long_ago());
  }
  /// When `take` next returns one.
  Time next_event(uint32_t lane) const noexcept { return wheels_[lane].next(); }

  /// As of the last look; a rate of 0 before the first.
  const Allowance& allowance(uint32_t queue_pair) const noexcept { return flows_[queue_pair].allowance; }
  bool is_paced(uint32_t queue_pair) const noexcept { return is_paced(flows_[queue_pair]); }
  /// When it may send next.
  Time schedule(uint32_t queue_pair) const noexcept { return flows_[queue_pair].next; }
  /// Times a queue pair left the wheel so late that time was lost, and the most that any has lost in this way.
  uint64_t slips() const noexcept { return slips_; }
  Duration longest_slip() const noexcept { return longest_slip_; }
  /// Times that it was lost while queued.
  uint64_t displaced() const noexcept { return displaced_; }
  /// Memory of what is kept of queue pairs here, the algorithm's own apart.
  size_t bytes() const noexcept;

 private:
  enum class State : uint8_t {
    kIdle,
    kQueued,
    kWaiting,  // in the wheel
  };
  struct Flow {
    Time next = Time::long_ago();
    Allowance allowance;
    Bandwidth line;
    Duration slipped;
    uint32_t left = 0;  // of the burst that has begun
    State state = State::kIdle;
  };

  static bool is_paced(const Flow& flow) noexcept { return flow.allowance.rate < flow.line; }
  Time held_until(uint32_t queue_pair) const noexcept {
    return options_.holds == nullptr ? Time::long_ago() : options_.holds->next(queue_pair);
  }
  bool is_due(uint32_t queue_pair, Time now) const noexcept;
  void look(uint32_t queue_pair, Time now) noexcept;
  Duration lose(Flow& flow, Time now) const noexcept;
  uint32_t window_room(const Flow& flow, uint32_t in_flight) const noexcept;

  std::unique_ptr<CongestionControl> control_;
  PacingOptions options_;
  std::vector<Flow> flows_;
  std::vector<TimingWheel::Place> places_;  // by queue pair, which is in no wheel but its lane's
  std::vector<TimingWheel> wheels_;         // by lane
  uint64_t slips_ = 0, displaced_ = 0;
  Duration longest_slip_;
};

}  // namespace rankwire
