// What the record says of a run that did not end by itself.
#pragma once

#include <optional>

#include "base/transport.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/engine/run.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Who waits for whom, and what that amounts to, of a run that stalled, of which messages failed, or that was stopped
/// when it had stood still for half of run.stall_timeout; absent of others. `transport` carried all its messages and is
/// not closed.
std::optional<StallRow> stall_row(const Setup& setup, const RunResult& result, WorkerEngines& engines,
                                  const Transport& transport);

}  // namespace rankwire
