// Where a queue pair's time goes, as it goes.
#pragma once

#include <algorithm>

#include "base/time_by_cause.h"
#include "base/units.h"

namespace rankwire {

/// Runs while something is posted and not acknowledged, and charges every picosecond of that to one cause. Times never
/// go back. `paused` is how long the queue pair's priority has been paused so far, by any count that only grows: what
/// it grows by during Cause::kPort is charged to Cause::kPaused. One thread.
class CauseClock {
 public:
  /// From `now` on the queue pair is in the state `cause`: one of those that are not found out here, kTransmitting and
  /// kPaused.
  void enter(Cause cause, Time now, Duration paused) noexcept {
    settle(now, paused);
    cause_ = cause;
    running_ = true;
  }
  /// What was charged to a cause from the last change of state or progress on turns out to have been `cause`.
  void blame(Cause cause) noexcept { cause_ = cause; }
  /// Nothing is posted that is not acknowledged.
  void stop(Time now, Duration paused) noexcept {
    settle(now, paused);
    running_ = false;
    transmitting_until_ = now;
  }
  /// Packets that take `line_time` go on the line at `now`, behind those before. Packets sent `again` belong to
  /// kRecovering, also when none is left that has to be.
  void transmit(Duration line_time, Time now, bool again) noexcept {
    if (cause_ == Cause::kRecovering) return;
    transmitting_until_ = std::max(transmitting_until_, now) + line_time;
    again_ = again;
  }

  /// All that was charged up to `now`.
  TimeByCause read(Time now, Duration paused) const noexcept {
    CauseClock copy = *this;
    copy.settle(now, paused);
    return copy.spent_;
  }

 private:
  void settle(Time now, Duration paused) noexcept {
    if (running_) {
      Duration rest = now - since_;
      rest -= charge(again_ ? Cause::kRecovering : Cause::kTransmitting, transmitting_until_ - since_, rest);
      if (cause_ == Cause::kPort) rest -= charge(Cause::kPaused, paused - paused_, rest);
      spent_[cause_] += rest;
    }
    since_ = now;
    paused_ = paused;
  }
  Duration charge(Cause cause, Duration time, Duration most) noexcept {
    const Duration charged = std::clamp(time, Duration(), most);
    spent_[cause] += charged;
    return charged;
  }

  TimeByCause spent_;
  Time since_;
  Time transmitting_until_ = Time::long_ago();
  Duration paused_;  // at since_
  Cause cause_ = Cause::kAcknowledgement;
  bool running_ = false;
  bool again_ = false;  // what is on the line up to transmitting_until_
};
static_assert(sizeof(CauseClock) == 96);

}  // namespace rankwire
