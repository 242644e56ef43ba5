// How long an accelerator takes for an operation of which only its arithmetic and its data are known.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace rankwire {

struct ComputeDevice {
  int64_t peak_flops = 0;      ///< flop/s, > 0
  Bandwidth memory_bandwidth;  ///< > 0
};

inline constexpr uint32_t kWholeShare = 1'000'000;  ///< parts per million

/// The share of the roofline that operations reach, by one of their quantities.
struct EfficiencyCurve {
  enum class Axis : uint8_t {
    kIntensity,  ///< operations / byte
    kWork,       ///< operations
    kBytes,
  };
  struct Point {
    int64_t at_thousandths = 0;        ///< of the axis's unit, >= 0
    uint32_t share_ppm = kWholeShare;  ///< > 0
  };

  Axis axis = Axis::kIntensity;
  std::vector<Point> points;  ///< by rising `at_thousandths`, all different; none: the whole

  /// Linear between the points, constant beyond the first and the last; rounded down to parts per million. An operation
  /// without data has no intensity that is too large.
  uint32_t share_of(int64_t operations, Bytes tensor) const;
};

enum class RooflineBound : uint8_t { kArithmetic, kMemory };

struct RooflineTime {
  Duration time;
  RooflineBound bound = RooflineBound::kArithmetic;
};

/// max(operations / peak, tensor / memory bandwidth) / share: Williams, Waterman, Patterson, "Roofline", CACM 52(4),
/// 2009. Both counts are >= 0, `share_ppm` is 1 .. kWholeShare. Rounded up to whole picoseconds, computed in 128 bits;
/// Duration::max() when it does not fit.
RooflineTime roofline(int64_t operations, Bytes tensor, const ComputeDevice& device, uint32_t share_ppm = kWholeShare);

}  // namespace rankwire
