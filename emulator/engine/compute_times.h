// How much time the nodes of a rank take that compute, by what gives them their times.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "emulator/workload/workload.h"

namespace rankwire {

struct ComputeTimes {
  struct OfModel {
    uint64_t nodes = 0;
    Duration time;  ///< as they are without variation
  };
  std::array<OfModel, static_cast<size_t>(TimedBy::kDefault) + 1> models;  ///< by TimedBy
  Duration jitter;                                                         ///< may be negative
  Duration noise;
  Duration slowed;  ///< by slow-downs and pauses
};

}  // namespace rankwire
