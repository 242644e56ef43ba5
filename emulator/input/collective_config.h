// A series of calls of one collective: the keys `workload.generate.collective`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/measured_collective.h"
#include "base/units.h"

namespace rankwire {

struct CollectiveSeriesConfig {
  MeasuredCollective operation = MeasuredCollective::kAllReduce;
  uint32_t ranks = 4;
  Bytes smallest = Bytes(8), largest = Bytes(4 << 20);  ///< keys `min`, `max`
  uint32_t factor = 2;
  std::optional<Bytes> step;  ///< in place of `factor`
  uint32_t warmup = 5, iterations = 20;
  std::string datatype = "float", redop = "sum";
  uint32_t root = 0;
  uint32_t spread = 1'000'000;   ///< of all_to_all_v, in millionths
  bool barrier = false;          ///< also between the iterations of a size
  std::string average = "mean";  ///< one of measured_averages()

  bool operator==(const CollectiveSeriesConfig&) const = default;

  MeasuredSeries series() const {
    return {operation, ranks, smallest, largest, factor, step.value_or(Bytes(0)), element_of(datatype), spread};
  }
};

}  // namespace rankwire
