#include "emulator/device_counters/device_clock.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace rankwire {
namespace {

constexpr int64_t kLongestFit = 60'000'000'000, kLeastStep = 100'000'000, kOldest = 86'400'000'000'000;
constexpr int64_t kDriftDivisor = 20'000;  // 50 us a second
constexpr size_t kAgreeing = 3;

/// What is added to a stamp to get a time of this machine's clock, between two bounds.
struct Bounds {
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  int64_t first = 0, last = 0;  ///< arrivals

  bool has_low() const { return low != std::numeric_limits<int64_t>::min(); }
  int64_t drift_until(int64_t arrived) const { return (arrived - first) / kDriftDivisor; }
};

struct Offset {
  int64_t value = 0;
  std::optional<int64_t> error;
};

class Fit {
 public:
  Fit(std::span<const SampleTimes> samples, std::optional<int64_t> round_trip)
      : samples_(samples), round_trip_(round_trip), tolerance_(std::max(kLeastStep, 2 * round_trip.value_or(0))) {
    clock_.times.resize(samples.size());
  }

  DeviceClockFit run() && {
    std::vector<size_t> stamped;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].stamp) {
        stamped.push_back(i);
      } else {
        clock_.times[i] = unstamped(samples_[i]);
      }
    }
    for (size_t first = 0; first < stamped.size();) first = fit_from(stamped, first);
    if (before_) clock_.ahead = -before_->value;
    return std::move(clock_);
  }

 private:
  static SampleTime unstamped(const SampleTimes& sample) {
    if (!sample.asked) return {sample.arrived, std::nullopt};
    const int64_t length = sample.arrived - *sample.asked;
    return {*sample.asked + length / 2, length - length / 2};
  }

  int64_t high_of(size_t i) const { return samples_[i].arrived - *samples_[i].stamp; }

  /// Whether those from `first` on agree that the clock was set back: their upper bounds are near each other, and far
  /// above `high`. What was merely late comes nearer from one to the next.
  bool is_set_back(std::span<const size_t> stamped, size_t first, int64_t high) const {
    if (first + kAgreeing > stamped.size()) return false;
    int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
    for (size_t k = first; k < first + kAgreeing; ++k) {
      least = std::min(least, high_of(stamped[k])), most = std::max(most, high_of(stamped[k]));
    }
    return least > high + tolerance_ && most - least <= tolerance_;
  }

  /// Whether a sample is of a clock that was set since those of `bounds`.
  bool contradicts(const Bounds& bounds, std::span<const size_t> stamped, size_t k) const {
    const SampleTimes& sample = samples_[stamped[k]];
    const int64_t slack = bounds.drift_until(sample.arrived);
    const int64_t high = high_of(stamped[k]);
    if (sample.asked && *sample.asked - *sample.stamp > bounds.high + slack) return true;
    if (bounds.has_low()) return high < bounds.low - slack;
    return high < bounds.high - tolerance_ || (!sample.asked && is_set_back(stamped, k, bounds.high));
  }

  void take(Bounds& bounds, const SampleTimes& sample, int64_t high) const {
    bounds.high = std::min(bounds.high, high);
    if (sample.asked) bounds.low = std::max(bounds.low, *sample.asked - *sample.stamp);
    bounds.last = sample.arrived;
  }

  Offset offset_of(const Bounds& bounds) const {
    const int64_t drift = bounds.drift_until(bounds.last);
    if (bounds.has_low()) {
      // Drift alone may have made them cross.
      const int64_t width = std::max<int64_t>(bounds.high - bounds.low, 0);
      return {bounds.high - (bounds.high - bounds.low) / 2, width - width / 2 + drift};
    }
    if (!round_trip_) return {bounds.high, std::nullopt};
    return {bounds.high - *round_trip_, *round_trip_ + drift};
  }

  /// Those from `first` on that are of one clock as it runs; the first that is not.
  size_t fit_from(std::span<const size_t> stamped, size_t first) {
    Bounds bounds;
    bounds.first = samples_[stamped[first]].arrived;
    size_t stop = first;
    for (; stop < stamped.size(); ++stop) {
      const SampleTimes& sample = samples_[stamped[stop]];
      if (stop > first && (sample.arrived - bounds.first > kLongestFit || contradicts(bounds, stamped, stop))) break;
      take(bounds, sample, high_of(stamped[stop]));
    }
    const Offset offset = offset_of(bounds);
    for (size_t k = first; k < stop; ++k) {
      const SampleTimes& sample = samples_[stamped[k]];
      const int64_t at = *sample.stamp + offset.value;
      const int64_t earliest = sample.asked.value_or(sample.arrived - kOldest);
      clock_.times[stamped[k]] = {std::clamp(at, earliest, sample.arrived), offset.error};
    }
    if (before_ && is_step(*before_, offset)) ++clock_.steps;
    before_ = offset;
    return stop;
  }

  bool is_step(const Offset& a, const Offset& b) const {
    const int64_t least = a.error && b.error ? *a.error + *b.error : tolerance_;
    return std::abs(a.value - b.value) > least;
  }

  const std::span<const SampleTimes> samples_;
  const std::optional<int64_t> round_trip_;
  const int64_t tolerance_;
  DeviceClockFit clock_;
  std::optional<Offset> before_;
};

}  // namespace

DeviceClockFit fit_device_clock(std::span<const SampleTimes> samples, std::optional<int64_t> round_trip) {
  return Fit(samples, round_trip).run();
}

}  // namespace rankwire
