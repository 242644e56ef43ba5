// A run that takes longer on the wall than its job takes: the keys of `dilation`.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rankwire {

constexpr uint32_t kLargestDilation = 1'000;

/// What the device under test has that nobody can stretch; absent: what `switch` says of the fabric of the job.
struct DilatedDeviceConfig {
  std::optional<Duration> latency, link_latency;  ///< on the wall
  std::optional<Bytes> buffer;                    ///< each output queue
  std::optional<Bytes> ecn_threshold;

  bool operator==(const DilatedDeviceConfig&) const = default;
};

struct DilationConfig {
  uint32_t factor = 1;  ///< seconds on the wall for each second of the job, 1 .. kLargestDilation
  DilatedDeviceConfig device;
};

}  // namespace rankwire
