// What an algorithm costs by its textbook formula: messages one after the other, and bytes.
#pragma once

#include <vector>

#include "base/units.h"
#include "emulator/collective/schedule.h"

namespace rankwire {

/// Messages that follow one another on an operation's critical path.
struct CostPhase {
  uint32_t messages = 0;
  Bytes bytes;           ///< of data of each; what a member sends at once to several counts as one
  bool reduces = false;  ///< each is added to what its receiver has
  bool local = false;    ///< between members of one host
};

/// The phases of the operation by `options.algorithm`, in their order: the terms of the alpha-beta formulas of Hockney
/// (Parallel Computing 20, 1994) for rings, of Thakur, Rabenseifner and Gropp (IJHPCA 19, 2005) for hypercubes and
/// trees, of the sources in docs/collectives.md for the others. Slices count where a pipeline lives from them: rings of
/// broadcast and reduce, and double binary trees. Of blocks that differ, the direct algorithms take what the busiest
/// member sends or receives, and the pairwise exchange the largest block of each step; the others take all blocks to be
/// as large as the largest. Of the request, position and root are not looked at. Throws
/// Error(kInput) for an algorithm from a file, which has no formula.
std::vector<CostPhase> cost_phases(const ScheduleRequest& request, const ScheduleOptions& options);

}  // namespace rankwire
