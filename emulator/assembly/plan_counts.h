// How much of everything a run's plan has, for the memory that it takes.
#pragma once

#include <cstdint>

#include "emulator/assembly/setup.h"

namespace rankwire {

/// Iterations of the job with most.
uint32_t most_iterations(const Setup& setup);

/// What a plan has, counted once; of several machines what the own one has of it, but for `connections` and what the
/// plan itself takes, which each knows as a whole.
struct PlanCounts {
  explicit PlanCounts(const Setup& setup);

  uint64_t connections = 0, recorded = 0, wire = 0, local = 0;  ///< recorded: those with flows in its record
  uint64_t queue_pair_ends = 0;
  uint64_t wire_messages = 0, local_messages = 0;  ///< an iteration
  uint64_t packets = 0;                            ///< of all iterations, acknowledgements included
  uint64_t largest_message = 0;                    ///< bytes, on the wire
  uint64_t nodes = 0, steps = 0, slots = 0, edges = 0;
  uint64_t in_flight = 0;
};

}  // namespace rankwire
