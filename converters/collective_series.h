// Traces of a measurement as nccl-tests makes it: one collective again and again, size by size.
//
// A rank begins a call when its call before has ended, as work in a CUDA stream does. Of each size some calls warm up;
// a barrier separates them from those that are measured, and sizes from each other, as where nccl-tests waits for all.
// SENDRECV and HYPERCUBE are SENDs and RECVs; each of their calls ends when the rank's last message has.
#pragma once

#include <cstdint>
#include <string>

#include "base/measured_collective.h"
#include "converters/generated_traces.h"

namespace rankwire {

struct CollectiveSeries {
  MeasuredSeries series;
  uint32_t warmup = 5, iterations = 20;  ///< of each size
  uint32_t root = 0;
  bool barrier = false;  ///< also between the measured calls of a size
};

/// Writes `<prefix>.<rank>.et` for every rank and the group `world` into `<prefix>.json`. Names are those of
/// `measured_name`. Throws Error(kInput) where no size is left, for a hypercube whose ranks are no power of two, and
/// for a root that is no rank; further errors and guarantees are those of generate_transformer.
GeneratedTraces generate_collective_series(const CollectiveSeries& series, const NodeFiles& set);

/// The same without writing: throws where that would, but for what has to do with files.
void check_collective_series(const CollectiveSeries& series);

}  // namespace rankwire
