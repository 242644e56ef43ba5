// The gap of single operations between a run and its reference, whether the run's completion depended on them or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/gap_cause.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// `late_peer` and all `parts` add up to `gap` exactly.
struct OperationGap {
  RankId rank;
  uint32_t node = 0;  ///< of the rank's trace, as in OperationRecord
  uint32_t iteration = 0;
  Duration gap;        ///< by how much longer the execution took, from its start to its end; negative: shorter
  Duration late_peer;  ///< signed: waiting for the member that began last, beyond what the reference waits there
  RankId waited_for;   ///< that member in the run; invalid: nobody began later
  GapParts parts{};    ///< of what came after it; zero for kCompute and kBetween
  /// Whether more is known than that it took so much longer.
  bool is_explained() const { return parts[static_cast<size_t>(GapCause::kUnexplained)] != gap; }
};

/// Of those of `operations`, which communicate, that both sides have executed, in their order. `emulated` has the
/// executions of `run`, and `reference` those of the other side. What came after the last member's start is split as
/// parts_of_slower has it.
std::vector<OperationGap> operation_gaps(const RunReader& record, const RecordedRun& run,
                                         std::span<const OperationRow> operations, const Executions& emulated,
                                         const Executions& reference);

}  // namespace rankwire
