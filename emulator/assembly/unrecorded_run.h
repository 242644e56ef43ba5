// A run of the engine over the reference's network of which nothing is kept but when it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/communication_times.h"
#include "emulator/engine/engine.h"
#include "emulator/symmetry/quotient.h"
#include "fabric/network.h"

namespace rankwire {

struct UnrecordedRun {
  std::string label;                          ///< what whoever looks on is told
  uint64_t operations = 0;                    ///< that it has
  std::optional<OnlyJob> only = {};           ///< absent: all jobs, and the background
  bool without_background = false;            ///< also of all jobs
  const NodeVariation* variation = nullptr;   ///< of the times of nodes; null: none
  const CommunicationTimes* times = nullptr;  ///< instead of a network; null: there is one
  const Quotient* folded = nullptr;           ///< of the plan and the network, asked first; null: there is none
  uint64_t folded_operations = 0;             ///< that it has
  uint64_t most_work = UINT64_MAX;            ///< NetworkModel::work beyond which it ends without a result
  RecordSink* sink = nullptr;                 ///< told what is recorded of a run that is not folded; null: nobody
};

struct UnrecordedResult {
  Duration completion;             ///< of the slowest rank
  std::vector<Duration> per_rank;  ///< completion, by RankId
  std::vector<JobSpan> jobs;       ///< by JobId
  uint64_t work = 0;               ///< NetworkModel::work; 0 of what is folded
};

/// Runs in virtual time, in this thread, over the set-up's plan. Nothing where it does not end well. What it shares
/// with others is constant: several may be at work.
std::optional<UnrecordedResult> run_unrecorded(const Setup& setup, const UnrecordedRun& run, Network network,
                                               const RunControl& control);

}  // namespace rankwire
