// How often the loop looks at its ports, and whether it stood still.
#pragma once

#include <cstdint>

#include "base/histogram.h"
#include "base/units.h"

namespace rankwire {

/// A gap between two looks that is longer than `standstill` is the program's own, not the network's: time-outs that run
/// out in it must not fire before there was time to look. A loop that is always this slow must still notice losses, so
/// after kMostInARow long gaps nothing is put off any more unless there was as long as the time-outs were put off for
/// without one. A state machine without clock; one thread.
class LoopWatch {
 public:
  static constexpr uint32_t kMostInARow = 8;

  /// `grace`: for how long time-outs are put off after a standstill. `measures`: keeps `intervals`.
  LoopWatch(Duration standstill, Duration grace, bool measures)
      : standstill_(standstill), grace_(grace), measures_(measures) {}

  /// The loop looks at its ports at `now`, which never decreases.
  void look(Time now) noexcept {
    const bool first = last_ == Time::long_ago();
    if (measures_ && !first) intervals_.add(now - last_);
    const bool begins = last_ < Time() && now >= Time();  // run time jumps here
    const bool stood_still = !first && !begins && now - last_ > standstill_;
    last_ = now;
    if (stood_still) {
      if (++in_a_row_ <= kMostInARow) hold_until_ = now + grace_;
    } else if (now >= hold_until_) {
      in_a_row_ = 0;  // there was time to look
    }
  }
  /// Everything up to `now` has been looked at: no gap begins before.
  void skip_to(Time now) noexcept { last_ = now; }

  /// No time-out fires earlier. long_ago() before the first standstill.
  Time hold_until() const noexcept { return hold_until_; }
  /// Between two looks; empty unless they are measured.
  const Histogram& intervals() const noexcept { return intervals_; }

 private:
  const Duration standstill_, grace_;
  const bool measures_;
  uint32_t in_a_row_ = 0;
  Time last_ = Time::long_ago();
  Time hold_until_ = Time::long_ago();
  Histogram intervals_;
};

}  // namespace rankwire
