// What a run would have taken without one of the causes of its gap, by a replay of what it recorded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/gap_cause.h"
#include "emulator/record/reader.h"

namespace rankwire {

struct CausesRemoved {
  /// Completion when every execution takes, from the last start that it waited for, what it does in the reference: how
  /// far it is from the reference's own completion is how far replays are off.
  Duration all;
  /// By GapCause: completion when nothing takes longer for this one; absent where nothing did, and of what is
  /// no longer time of an execution.
  std::array<std::optional<Duration>, kGapCauses> without;

  static constexpr bool is_of_executions(GapCause cause) {
    return cause != GapCause::kFaster && cause != GapCause::kBetween && cause != GapCause::kOtherChain;
  }
};

/// More executions are not replayed: their parts are read and kept for all of them, not only along a path.
inline constexpr uint32_t kMostReplayedExecutions = 500'000;

/// What executions took less time for than in the reference was so because others were held up, and takes as long as
/// there in every replay; but nothing makes a replay longer than the run.
///
/// Splits what every execution of `emulated`, those of `run`, took longer than in the reference, as a waterfall does
/// with those on the critical path, and replays all executions (Replay) without one of the parts at a time. Of members
/// of one collective, and of a SEND and its RECV, the one that took most extra time says in which parts. `late` says
/// of each part how much of it, 0 .. 1, lateness of the generator has, which is taken off it and is kGenerator's.
/// Absent where there are more than kMostReplayedExecutions.
std::optional<CausesRemoved> remove_causes(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                                           const Executions& reference, const std::array<double, kGapCauses>& late);

}  // namespace rankwire
