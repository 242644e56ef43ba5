// When a port may start its next frame: an absolute schedule at line rate.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/ports/line_times.h"

namespace rankwire {

/// The schedule is the time at which the line is free again. While a port has frames to send it advances by each
/// frame's line time and nothing else, so lateness of the loop is made good by frames in quick succession; but by no
/// more than `catch_up`: what is beyond slips for good and is counted. A port that had nothing to send starts afresh.
/// A frame may start up to `lead` before its slot.
class Pacer {
 public:
  Pacer(Bandwidth rate, Duration catch_up, Duration lead = Duration())
      : catch_up_(catch_up), lead_(lead), line_times_(rate) {}

  /// Frames are waiting that were not waiting when the port was last looked at.
  void resume(Time now) noexcept {
    if (schedule_ < now) schedule_ = now;
  }
  /// Frames have been waiting since the port was last looked at.
  void keep_up(Time now) noexcept {
    const Duration behind = now - schedule_;
    if (behind <= catch_up_) return;
    ++stalls_;
    if (behind > worst_stall_) worst_stall_ = behind;
    slipped_ += behind - catch_up_;
    schedule_ = now - catch_up_;
  }

  bool due(Time now) const noexcept { return next_due() <= now; }
  /// How many frames that take `each` on the line, at most `limit` (> 0), may start by now one behind the other.
  uint32_t slots(Time now, Duration each, uint32_t limit) const noexcept {
    const Time latest = now + lead_;
    if (schedule_ + each * (limit - 1) <= latest) return limit;
    uint32_t n = 0;
    for (Time start = schedule_; n < limit && start <= latest; start += each) ++n;
    return n;
  }
  /// `frames` frames that take `each` start in the slots that are due.
  void start(Duration each, uint32_t frames) noexcept { schedule_ += each * frames; }

  /// The time of a frame of `length` bytes without FCS on the line.
  Duration line_time(uint32_t length) noexcept { return line_times_.of(length); }

  /// When the line is free again, and from when on the next frame may start.
  Time schedule() const noexcept { return schedule_; }
  Time next_due() const noexcept { return schedule_ - lead_; }
  uint64_t stalls() const noexcept { return stalls_; }
  Duration worst_stall() const noexcept { return worst_stall_; }
  Duration slipped() const noexcept { return slipped_; }

 private:
  Time schedule_ = Time::long_ago();
  Duration catch_up_, lead_;
  LineTimes line_times_;
  uint64_t stalls_ = 0;
  Duration worst_stall_, slipped_;
};

}  // namespace rankwire
