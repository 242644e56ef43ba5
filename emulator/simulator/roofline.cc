#include "emulator/simulator/roofline.h"

#include <algorithm>

namespace rankwire {
namespace {

constexpr int64_t kPicosecondsPerSecond = 1'000'000'000'000;

/// The time of `work` units at `rate` units a second.
Duration time_of(__int128 work, int64_t rate) {
  const __int128 ps = (work * kPicosecondsPerSecond + rate - 1) / rate;
  return ps < Duration::max().ps ? Duration(static_cast<int64_t>(ps)) : Duration::max();
}

}  // namespace

Duration roofline(int64_t operations, Bytes tensor, const ComputeDevice& device) {
  return std::max(time_of(operations, device.peak_flops),
                  time_of(static_cast<__int128>(tensor.count) * 8, device.memory_bandwidth.bits_per_second));
}

}  // namespace rankwire
