// The gap between a run and its reference, split along the run's critical path into parts that add up to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/gap_cause.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// `gap` is positive when the run took longer; the parts add up to it exactly.
struct Waterfall {
  Duration gap;
  GapParts parts{};
  /// Of each step of the path, with the time before it, which of the parts it has caused; they add up to `parts`. The
  /// last has what the reference does after its counterpart.
  std::vector<GapParts> by_step;
  /// Of each step of the path, what the same execution took in the reference from when the last member it waited for
  /// had begun; 0 where it is not there.
  std::vector<Duration> reference;
  Duration operator[](GapCause cause) const { return parts[static_cast<size_t>(cause)]; }
};

/// `path` is that of `emulated`, the executions of `run`, and `reference` has those of the other; both runs ended well.
/// The gap is that between the end of the path and of `reference_last`, absent: of what ended last there. Each step of
/// the path, and the time before it, is set against the same executions in the reference.
/// What communication took longer is split as parts_of_slower has it.
Waterfall waterfall(const RunReader& record, const RecordedRun& run, const CriticalPath& path,
                    const Executions& emulated, const Executions& reference,
                    std::optional<uint32_t> reference_last = std::nullopt);

/// Gives `late`, no more than the gap, to GapCause::kGenerator, and takes it from steps that became longer: of each of
/// kLengthenedByLateness in its order, from the longest first. The parts still add up to the gap.
void attribute_lateness(Waterfall& waterfall, Duration late);

}  // namespace rankwire
