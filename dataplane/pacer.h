// When a port may start its next frame: an absolute schedule at line rate.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "dataplane/frame_port.h"

namespace rankwire {

/// The schedule is the time at which the line is free again. While a port has frames to send it advances by each
/// frame's line time and nothing else, so lateness of the loop is made good by frames in quick succession; but by no
/// more than `catch_up`: what is beyond slips for good and is counted. A port that had nothing to send starts afresh.
class Pacer {
 public:
  Pacer(Bandwidth rate, Duration catch_up) : rate_(rate), catch_up_(catch_up) {}

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

  bool due(Time now) const noexcept { return schedule_ <= now; }
  /// A frame of `length` bytes without FCS starts in the slot that is due.
  void start(uint32_t length) noexcept { schedule_ += line_time(length); }

  /// The time of a frame of `length` bytes on the line.
  Duration line_time(uint32_t length) noexcept {
    if (length != last_length_) {
      last_length_ = length;
      last_time_ = serialization_time(line_bytes(length), rate_);
    }
    return last_time_;
  }

  Time schedule() const noexcept { return schedule_; }
  uint64_t stalls() const noexcept { return stalls_; }
  Duration worst_stall() const noexcept { return worst_stall_; }
  Duration slipped() const noexcept { return slipped_; }

 private:
  Time schedule_;
  Bandwidth rate_;
  Duration catch_up_;
  uint32_t last_length_ = UINT32_MAX;  // the last division's operand and result
  Duration last_time_;
  uint64_t stalls_ = 0;
  Duration worst_stall_, slipped_;
};

}  // namespace rankwire
