#include "emulator/simulator/roofline.h"

#include <algorithm>

namespace rankwire {
namespace {

constexpr int64_t kSecond = 1'000'000'000'000;

using Wide = __int128;

/// The time of `work` units (below 2^67) at `share_ppm` of `rate` units a second.
Duration time_of(Wide work, int64_t rate, uint32_t share_ppm) {
  // work x 10^18 / (rate x share), digit by digit: the dividend would not fit, and no remainder exceeds 2^63 x 10^6.
  const Wide scaled_rate = Wide{rate} * share_ppm;
  const Wide whole = work / scaled_rate;
  constexpr Wide kUnit = Wide{kSecond} * kWholeShare;
  if (whole > Duration::max().ps / kUnit) return Duration::max();
  const Wide first = work % scaled_rate * kWholeShare;
  const Wide second = first % scaled_rate * kWholeShare;
  const Wide third = second % scaled_rate * kWholeShare;
  const Wide ps = whole * kUnit + first / scaled_rate * kSecond + second / scaled_rate * kWholeShare +
                  (third + scaled_rate - 1) / scaled_rate;
  return ps < Duration::max().ps ? Duration(static_cast<int64_t>(ps)) : Duration::max();
}

Wide position(EfficiencyCurve::Axis axis, int64_t operations, Bytes tensor) {
  switch (axis) {
    case EfficiencyCurve::Axis::kIntensity:
      if (tensor.count == 0) return Wide{INT64_MAX} * 1'000;
      return Wide{operations} * 1'000 / tensor.count;
    case EfficiencyCurve::Axis::kWork:
      return Wide{operations} * 1'000;
    case EfficiencyCurve::Axis::kBytes:
      return Wide{tensor.count} * 1'000;
  }
  return 0;
}

}  // namespace

uint32_t EfficiencyCurve::share_of(int64_t operations, Bytes tensor) const {
  if (points.empty()) return kWholeShare;
  const Wide at = position(axis, operations, tensor);
  const auto right = std::ranges::find_if(points, [&](const Point& point) { return point.at_thousandths >= at; });
  if (right == points.begin()) return right->share_ppm;
  const Point& left = *std::prev(right);
  if (right == points.end()) return left.share_ppm;
  const Wide rise = Wide{right->share_ppm} - left.share_ppm;
  const Wide run = right->at_thousandths - left.at_thousandths;
  const Wide along = rise * (at - left.at_thousandths);
  return static_cast<uint32_t>(left.share_ppm + (along >= 0 ? along / run : -((-along + run - 1) / run)));
}

RooflineTime roofline(int64_t operations, Bytes tensor, const ComputeDevice& device, uint32_t share_ppm) {
  const Duration arithmetic = time_of(operations, device.peak_flops, share_ppm);
  const Duration memory = time_of(Wide{tensor.count} * 8, device.memory_bandwidth.bits_per_second, share_ppm);
  if (memory > arithmetic) return {memory, RooflineBound::kMemory};
  return {arithmetic, RooflineBound::kArithmetic};
}

}  // namespace rankwire
