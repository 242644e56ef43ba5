// What the record says of a run that did not end by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/connection_state.h"
#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/engine/run.h"
#include "emulator/engine/stall.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// What the workers of this process know of their ranks: all of StallFacts but what is of the run as a whole.
StallFacts stall_facts(const Setup& setup, WorkerEngines& engines);

/// A run that has been stopped, as its process or all its machines together know it.
struct StoppedRun {
  Verdict verdict = Verdict::kOk;
  Time end, last_progress;  ///< run time
  StallFacts facts;
  /// As Transport's, of connections that the facts name.
  std::function<std::vector<QueuePairState>(ConnectionId)> states;
  std::function<std::string(ConnectionId)> describe;
};

/// When a worker's loop must have stood still at the latest for a run that stalled to have waited for it. One that goes
/// on just as others give up because of it makes progress behind its standstill.
Time blamed_since(Time end, Time last_progress, Duration stall_timeout);

/// Who waits for whom, and what that amounts to, of a run that stalled, of which messages failed or machines have gone,
/// or that was stopped when it had stood still for half of run.stall_timeout; absent of others.
std::optional<StallRow> stall_row(const Setup& setup, StoppedRun run);

/// The same of a run in one process. `transport` carried all its messages and is not closed.
std::optional<StallRow> stall_row(const Setup& setup, const RunResult& result, WorkerEngines& engines,
                                  const Transport& transport);

}  // namespace rankwire
