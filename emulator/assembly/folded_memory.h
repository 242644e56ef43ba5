// What a folded workload leaves out and a run has.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

struct LeftOut {
  uint64_t nodes = 0, edges = 0;  ///< of Workload::ranks and of Plan::edges
  Bytes setup;                    ///< what they take before the run begins
};

/// Nothing where the workload is not folded.
LeftOut left_out(const Setup& setup);

}  // namespace rankwire
