#include "dataplane/dpdk/device_clock.h"

#include <algorithm>
#include <cmath>

namespace rankwire {
namespace {

Time middle(const DeviceClock::Reading& reading) {
  return reading.earliest + Duration((reading.latest - reading.earliest).ps / 2);
}

}  // namespace

DeviceClock::Point DeviceClock::point(const Reading& reading) const noexcept {
  return {.ticks = static_cast<double>(static_cast<int64_t>(reading.ticks - origin_ticks_)),
          .ps = static_cast<double>((middle(reading) - origin_).ps),
          .half_width = static_cast<double>((reading.latest - reading.earliest).ps) / 2};
}

double DeviceClock::line(uint64_t ticks) const noexcept {
  return offset_ + slope_ * static_cast<double>(static_cast<int64_t>(ticks - origin_ticks_));
}

bool DeviceClock::stepped(const Reading& reading) const noexcept {
  if (count_ < 2) return false;  // a line that no second reading has confirmed proves nothing
  // In floating point, because a line through strange readings could leave the range of a time.
  const double expected = line(reading.ticks), margin = static_cast<double>(kStep.ps);
  return expected < static_cast<double>((reading.earliest - origin_).ps) - margin ||
         expected > static_cast<double>((reading.latest - origin_).ps) + margin;
}

void DeviceClock::add(const Reading& reading) noexcept {
  if (stepped(reading)) count_ = next_ = 0;
  readings_[next_] = reading;
  next_ = (next_ + 1) % kReadings;
  count_ = std::min(count_ + 1, kReadings);
  origin_ticks_ = reading.ticks;
  origin_ = middle(reading);
  fit();
}

void DeviceClock::fit() noexcept {
  constexpr double kResolution = 1000;  // ps: of the run's clock, and the least bound that is believed
  double weights = 0, ticks = 0, ps = 0;
  std::array<Point, kReadings> points;
  std::array<double, kReadings> weight;
  for (size_t i = 0; i < count_; ++i) {
    points[i] = point(readings_[i]);
    const double bound = points[i].half_width + kResolution;
    weight[i] = 1 / (bound * bound);
    weights += weight[i];
    ticks += weight[i] * points[i].ticks;
    ps += weight[i] * points[i].ps;
  }
  ticks /= weights;
  ps /= weights;
  double squares = 0, products = 0;
  for (size_t i = 0; i < count_; ++i) {
    const double distance = points[i].ticks - ticks;
    squares += weight[i] * distance * distance;
    products += weight[i] * distance * (points[i].ps - ps);
  }
  // With one reading the rate is that of before the step, if it was known.
  if (squares > 0) slope_ = products / squares;
  offset_ = ps - slope_ * ticks;
}

Time DeviceClock::at(uint64_t ticks) const noexcept {
  return origin_ + Duration(static_cast<int64_t>(std::nearbyint(line(ticks))));
}

Time DeviceClock::arrival(uint64_t ticks, Time now) const noexcept {
  if (!ready()) return now;
  const double from_now = static_cast<double>((origin_ - now).ps) + line(ticks);
  if (std::abs(from_now) > static_cast<double>(kPlausible.ps)) return now;
  return now + Duration(static_cast<int64_t>(std::nearbyint(from_now)));
}

Duration DeviceClock::error() const noexcept {
  if (!ready()) return Duration();
  std::array<double, kReadings> errors;
  for (size_t i = 0; i < count_; ++i) {
    const Point p = point(readings_[i]);
    errors[i] = std::abs(p.ps - offset_ - slope_ * p.ticks) + p.half_width;
  }
  const auto median = errors.begin() + static_cast<ptrdiff_t>(count_ / 2);
  std::nth_element(errors.begin(), median, errors.begin() + static_cast<ptrdiff_t>(count_));
  return Duration(static_cast<int64_t>(std::nearbyint(*median)));
}

}  // namespace rankwire
