// How a run gets its connections, and what the record says of one that does not get them.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "base/device.h"
#include "base/transport.h"
#include "emulator/assembly/execute.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/run.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Brings all connections up while it drives `devices`, and returns those that cannot carry messages, each once. Of a
/// stopped run none: it has nothing to say about connections that it did not wait for. On several machines it throws
/// Error(kRun) instead, since the others wait.
std::vector<ConnectFailure> connect(const Setup& setup, const Execution& execution, std::span<Device* const> devices,
                                    const std::atomic<bool>& interrupted);

/// Of a run that could not begin for `failures`, which are some: its result, and its end with what `transport`, which
/// is not closed yet, has counted, and the first 1024 of the failures, or so many of them evenly. It carried nothing.
RunEnd unconnected_end(const Setup& setup, const Transport& transport, std::span<const ConnectFailure> failures,
                       RunResult& result);

}  // namespace rankwire
