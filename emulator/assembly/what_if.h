// What a run would take if one thing in it took no time at all.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "emulator/assembly/flow_run.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// The kinds of process groups, and the ports, that are tried: those with the most bytes.
inline constexpr size_t kMostFreedGroups = 16, kMostFreedPorts = 16;

/// What a run of kDisturbances, which nobody asked for, may cost at the most, in units of NetworkModel::work: some 5 s.
inline constexpr uint64_t kWhatIfWork = 1'000'000'000;

/// What is tried.
enum class WhatIfScope : uint8_t {
  kDisturbances,  ///< what disturbs the run in the reference as well, and can be told by a run without it
  kAll,
};

struct WhatIf {
  std::vector<WhatIfRow> rows;
  std::exception_ptr error;  ///< what the first of the runs that threw did; null: none has
};

/// Runs the model `flow` again for each of: what computes, all that is sent over wires, all that is local, what each
/// kind of process group sends (names that differ in numbers alone are one kind; SENDs and RECVs are another), and what
/// goes out or in at each port. That takes no time then: nodes end when they begin, messages arrive when they are
/// posted. Of kAll, too, are the disturbances that there are: without `collisions`, when every switch deals packets out
/// evenly among its equal paths; without `failures` of cables; and without `background`. Up to `threads` are at work at
/// a time. `variant` is that of all of them. None of kDisturbances may cost more than kWhatIfWork. Returns those that
/// ended well, in that order; what throws is left out.
WhatIf run_what_if(const Setup& setup, WhatIfScope scope, const FlowVariant& variant, uint32_t threads,
                   const RunControl& control);

}  // namespace rankwire
