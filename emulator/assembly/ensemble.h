// The reference as a band: how much its completion time hangs on differences that no real network is without.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/nic_network.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/node_variation.h"
#include "emulator/machines/machines.h"
#include "emulator/record/ensemble_row.h"
#include "fabric/network.h"

namespace rankwire {

/// In millionths: a tenth of a percent, less than clocks of a machine's processors differ by.
inline constexpr uint32_t kEnsembleDeviation = 1'000;

/// Of an ensemble that the configuration leaves to the program, at most; and at least, since fewer make no band.
inline constexpr uint32_t kAutoMembers = 16, kFewestAutoMembers = 3;

/// The most that all members together may cost there, in units of NetworkModel::work: some 10 s of one core.
inline constexpr uint64_t kAutoWork = 2'000'000'000;

/// What a member costs at the least, counted in the plan: where none of its messages shares a link. Traces that stay in
/// their files are read again by each member: more than any bound.
uint64_t least_member_work(const Setup& setup);

/// How many members the reference has at the most: what `simulation.ensemble` says, or where it leaves it to the
/// program, and `flow` is the reference, kAutoMembers; 0 where the least that they can cost is too much for
/// kFewestAutoMembers.
uint32_t ensemble_members(const Setup& setup);

/// By rank: what a communication takes on average, the messages of one after the other and each alone on its way over
/// `network`; of what the rank sends or of what it receives, whichever is longer. 0 where it does not communicate.
std::vector<Duration> mean_communication(const Setup& setup, const Network& network);

/// The small differences of a member of run_ensemble; the set-up outlives them.
std::unique_ptr<NodeVariation> member_variation(const Setup& setup, uint32_t member);

struct Ensemble {
  Nics nics = Nics::kTurns;       ///< of all of them
  uint32_t planned = 0;           ///< members that were to be simulated
  std::vector<uint32_t> members;  ///< those that ended well; all else has one for each
  std::vector<Duration> completions;
  std::vector<std::vector<Duration>> per_rank;  ///< member by member: completion of each rank, by RankId
  std::vector<EnsembleOperation> operations;    ///< member by member
  std::exception_ptr error;                     ///< what the first of the members that threw did; null: none has
};

/// Runs `members` times what the model `flow` runs, over its network with Nics::kTurns, or where ports are shared and
/// the first member ends earlier with Nics::kShare, over that: packets are no slower than either. Each has other small
/// differences, which follow from the seed of the configuration and the member:
///   - nodes that compute or move data within their rank take their time by a factor of mean 1, normal, with the
///     standard deviation kEnsembleDeviation;
///   - a rank begins each iteration later than it may by |z| x kEnsembleDeviation of its `mean_communication`, z
///     standard normal.
/// Up to `threads` are at work at a time. Returns what the members say in their order, of those that ended
/// well; what is interrupted is left out, and what throws. The result is the same whoever simulates which: `machines`,
/// of which this one leads, have their parts of all but the first, if they do `help_with_ensemble`; null: there are
/// none.
Ensemble run_ensemble(const Setup& setup, uint32_t members, uint32_t threads, const RunControl& control,
                      Machines* machines = nullptr);

/// The same of as many members as are within `most_work` together, each of which costs what the first does, and
/// kAutoMembers at most. None where fewer than kFewestAutoMembers are: then the first has been ended before it costs
/// more than its part. What a member costs is counted, not timed, so that a record does not depend on the machine.
Ensemble run_affordable_ensemble(const Setup& setup, uint64_t most_work, uint32_t threads, const RunControl& control,
                                 Machines* machines = nullptr);

}  // namespace rankwire
