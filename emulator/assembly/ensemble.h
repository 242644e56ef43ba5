// The reference as a band: how much its completion time hangs on differences that no real network is without.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

struct Ensemble {
  std::vector<Duration> completions;
  std::exception_ptr error;  ///< what the first of the members that threw did; null: none has
};

/// Runs `members` times what the model `flow` runs, each with other small differences of how long nodes take that
/// compute or move data within their rank: by a factor of mean 1, normal, with the standard deviation
/// kEnsembleDeviation, which follows from the seed of the configuration and the member. Up to `threads` are at work at
/// a time. Returns the completion times in the order of the members, of those that ended well; what is interrupted is
/// left out, and what throws.
Ensemble run_ensemble(const Setup& setup, uint32_t members, uint32_t threads, const RunControl& control);

/// In millionths: a tenth of a percent, less than clocks of a machine's processors differ by.
inline constexpr uint32_t kEnsembleDeviation = 1'000;

}  // namespace rankwire
