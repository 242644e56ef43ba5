// Ranks that compute more slowly, or not at all, for some of the run time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// From `from` until before `until` computing takes `factor_ppm` / 10^6 times as long.
struct SlowDown {
  static constexpr uint64_t kPause = UINT64_MAX;

  Time from, until = Time::never();
  uint64_t factor_ppm = 1'000'000;  ///< 10^6 .. 10^12, or kPause, with an end
};

/// The slow-downs of one rank together: where they overlap their factors multiply, up to 10^12 ppm, and a pause stays a
/// pause.
class SlowDowns {
 public:
  SlowDowns() = default;
  explicit SlowDowns(std::span<const SlowDown> slow_downs);

  bool empty() const noexcept { return stretches_.empty(); }
  /// When work that takes `work` at full speed ends that begins at `start`; at most one picosecond late for each change
  /// of speed on the way, and Time::never() - 1 ps when it does not fit. Integers only; nothing allocates.
  Time end_of(Time start, Duration work) const noexcept;

 private:
  std::vector<SlowDown> stretches_;  ///< in the order of time, disjoint
};

}  // namespace rankwire
