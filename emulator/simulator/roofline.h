// How long an accelerator takes for an operation of which only its arithmetic and its data are known.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

struct ComputeDevice {
  int64_t peak_flops = 0;      ///< flop/s, > 0
  Bandwidth memory_bandwidth;  ///< > 0
};

/// max(operations / peak, tensor / memory bandwidth): Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009. Both
/// counts are >= 0. Rounded up to whole picoseconds, computed in 128 bits; Duration::max() when it does not fit.
Duration roofline(int64_t operations, Bytes tensor, const ComputeDevice& device);

}  // namespace rankwire
