// Rates to which senders are held from outside, whatever their congestion control allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// Several queue pairs may have one rate together. Each hold has an absolute schedule, as PacedSenders has one for each
/// queue pair: what is sent puts it off by its time at the rate, whoever sent it; whose
/// packet of several that wait is the next is not said. Who begins to send has no credit from
/// before; who was due and did not get the line catches up by `catch_up` at most. No allocation after construction; one
/// thread.
class RateHolds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `hold_of`: by queue pair, 0 .. holds - 1, or kNone: it is never held. None is held at first.
  RateHolds(std::vector<uint32_t> hold_of, uint32_t holds, Duration catch_up)
      : hold_of_(std::move(hold_of)), holds_(holds), catch_up_(catch_up) {}

  uint32_t hold_of(uint32_t queue_pair) const noexcept { return hold_of_[queue_pair]; }
  bool is_held(uint32_t queue_pair) const noexcept {
    const uint32_t hold = hold_of_[queue_pair];
    return hold != kNone && holds_[hold].rate > Bandwidth();
  }
  /// When the queue pair may send next, as far as it is held.
  Time next(uint32_t queue_pair) const noexcept {
    const uint32_t hold = hold_of_[queue_pair];
    return hold == kNone ? Time::long_ago() : holds_[hold].next;
  }
  /// The queue pair, which had nothing to send, has.
  void resume(uint32_t queue_pair, Time now) noexcept {
    if (is_held(queue_pair)) holds_[hold_of_[queue_pair]].next = std::max(next(queue_pair), now);
  }
  /// It has sent frames that take `on_line`.
  void sent(uint32_t queue_pair, Bytes on_line, Time now) noexcept {
    if (!is_held(queue_pair)) return;
    Hold& hold = holds_[hold_of_[queue_pair]];
    hold.next = std::max(hold.next, now - catch_up_) + serialization_time(on_line, hold.rate);
  }

  /// 0: the hold ends. What is left of a wait is as much longer or shorter as the rate is lower or higher. Whether it
  /// is shorter: those who wait are to be looked at anew.
  bool set(uint32_t hold, Bandwidth rate, Time now) noexcept;

  /// Memory in bytes.
  size_t bytes() const noexcept { return hold_of_.size() * sizeof(uint32_t) + holds_.size() * sizeof(Hold); }

 private:
  struct Hold {
    Bandwidth rate;  // 0: none
    Time next = Time::long_ago();
  };

  std::vector<uint32_t> hold_of_;
  std::vector<Hold> holds_;
  Duration catch_up_;
};

}  // namespace rankwire
