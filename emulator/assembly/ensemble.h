// The reference as a band: how much its completion time hangs on differences that no real network is without.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/node_variation.h"
#include "emulator/record/ensemble_row.h"
#include "fabric/network.h"

namespace rankwire {

/// In millionths: a tenth of a percent, less than clocks of a machine's processors differ by.
inline constexpr uint32_t kEnsembleDeviation = 1'000;

/// Of an ensemble that the configuration leaves to the program, at most; and at least, since fewer make no band.
inline constexpr uint32_t kAutoMembers = 16, kFewestAutoMembers = 3;

/// The most that all members together may cost there: links that their messages take, of each message each link, and
/// operations. Measured: one of them takes 0.5 us (rings on a star) to 3 us (all-to-all through a fabric), so an
/// ensemble takes 3 to 18 s of one core at the most.
inline constexpr uint64_t kAutoCost = 6'000'000;

/// Of the set-up's workload, counted in the plan, so that it is the same on every machine. Traces that stay in their
/// files are read again by each member: more than any bound.
uint64_t member_cost(const Setup& setup);

/// How many members the reference has: what `simulation.ensemble` says, or where it leaves it to the program, and
/// `flow` is the reference, as many as kAutoCost has room for, kAutoMembers at most; 0 where those are too few.
uint32_t ensemble_members(const Setup& setup);

/// By rank: what a communication takes on average, the messages of one after the other and each alone on its way over
/// `network`; of what the rank sends or of what it receives, whichever is longer. 0 where it does not communicate.
std::vector<Duration> mean_communication(const Setup& setup, const Network& network);

/// The small differences of a member of run_ensemble; the set-up outlives them.
std::unique_ptr<NodeVariation> member_variation(const Setup& setup, uint32_t member);

struct Ensemble {
  std::vector<uint32_t> members;  ///< those that ended well; all else has one for each
  std::vector<Duration> completions;
  std::vector<std::vector<Duration>> per_rank;  ///< member by member: completion of each rank, by RankId
  std::vector<EnsembleOperation> operations;    ///< member by member
  std::exception_ptr error;                     ///< what the first of the members that threw did; null: none has
};

/// Runs `members` times what the model `flow` runs, each with other small differences, which follow from the seed of
/// the configuration and the member:
///   - nodes that compute or move data within their rank take their time by a factor of mean 1, normal, with the
///     standard deviation kEnsembleDeviation;
///   - a rank begins each iteration later than it may by |z| x kEnsembleDeviation of its `mean_communication`, z
///     standard normal.
/// Up to `threads` are at work at a time. Returns what the members say in their order, of those that ended
/// well; what is interrupted is left out, and what throws.
Ensemble run_ensemble(const Setup& setup, uint32_t members, uint32_t threads, const RunControl& control);

}  // namespace rankwire
