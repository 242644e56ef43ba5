#include "emulator/simulator/slow_downs.h"

#include <algorithm>

#include "base/sort_unique.h"

namespace rankwire {
namespace {

using Wide = __int128;

constexpr uint64_t kWhole = 1'000'000, kMostFactor = 1'000'000'000'000;
constexpr Time kLatest(Time::never().ps - 1);

Time later(Time start, Wide by) {
  return by < kLatest.ps - Wide{start.ps} ? Time(start.ps + static_cast<int64_t>(by)) : kLatest;
}

/// The factor of all that hold at `at`.
uint64_t factor_at(std::span<const SlowDown> slow_downs, Time at) {
  uint64_t factor = kWhole;
  for (const SlowDown& s : slow_downs) {
    if (at < s.from || at >= s.until) continue;
    if (s.factor_ppm == SlowDown::kPause) return SlowDown::kPause;
    const Wide product = Wide{factor} * s.factor_ppm / kWhole;
    factor = product < kMostFactor ? static_cast<uint64_t>(product) : kMostFactor;
  }
  return factor;
}

}  // namespace

SlowDowns::SlowDowns(std::span<const SlowDown> slow_downs) {
  std::vector<Time> changes;
  for (const SlowDown& s : slow_downs) changes.insert(changes.end(), {s.from, s.until});
  sort_unique(changes);
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    const uint64_t factor = factor_at(slow_downs, changes[i]);
    if (factor != kWhole) stretches_.push_back({changes[i], changes[i + 1], factor});
  }
}

Time SlowDowns::end_of(Time start, Duration work) const noexcept {
  auto stretch = std::ranges::upper_bound(stretches_, start, {}, &SlowDown::until);
  Time at = start;
  Wide left = work.ps;
  for (; stretch != stretches_.end(); ++stretch) {
    if (stretch->from > at) {
      const int64_t before = (stretch->from - at).ps;
      if (left <= before) break;
      left -= before;
      at = stretch->from;
    }
    if (stretch->factor_ppm != SlowDown::kPause) {
      const Wide takes = (left * stretch->factor_ppm + kWhole - 1) / kWhole;
      const Wide room = Wide{stretch->until.ps} - at.ps;
      if (takes <= room) return later(at, takes);
      left -= room * kWhole / stretch->factor_ppm;
    }
    at = stretch->until;
  }
  return later(at, left);
}

}  // namespace rankwire
