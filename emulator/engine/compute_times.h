// How much time the nodes of a rank take that compute, by what gives them their times.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "emulator/engine/node_variation.h"
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

  /// A node takes `takes` by itself.
  void add(TimedBy model, Duration takes) noexcept {
    OfModel& sum = models[static_cast<size_t>(model)];
    ++sum.nodes;
    // A sum that does not fit is of a run that cannot end.
    sum.time = takes < Duration::max() - sum.time ? sum.time + takes : Duration::max();
  }
  void add(const VariedTime& varied) noexcept {
    jitter += varied.jitter;
    noise += varied.noise;
    slowed += varied.slowed;
  }
};

}  // namespace rankwire
