// What makes a node take another time than the one that its trace or a model gives it.
#pragma once

#include <cstdint>

#include "base/id.h"
#include "base/units.h"

namespace rankwire {

/// When a node ends, and what has been added to its time. Of an end that time cannot tell the parts are not told.
struct VariedTime {
  Time end;         ///< before Time::never()
  Duration jitter;  ///< at random; negative where it was taken away
  Duration noise;   ///< interruptions
  Duration slowed;  ///< slow-downs and pauses
};

/// Called by the engine for every node that computes or moves data within its rank and takes time, and for every
/// iteration of a rank. What it says must follow from the arguments alone, so that emulated and simulated runs see the
/// same. Nothing allocates.
class NodeVariation {
 public:
  virtual ~NodeVariation() = default;
  /// The node at `place` of the file of `rank` begins at `start` in `iteration` and takes `takes` (> 0) by itself.
  virtual VariedTime vary(RankId rank, uint32_t place, uint32_t iteration, Duration takes,
                          Time start) const noexcept = 0;
  /// By how much later `rank` begins `iteration` than it may; >= 0.
  virtual Duration late([[maybe_unused]] RankId rank, [[maybe_unused]] uint32_t iteration) const noexcept { return {}; }
};

}  // namespace rankwire
