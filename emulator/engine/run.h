// The one loop that emulated, twin and reference runs share.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/device.h"
#include "base/histogram.h"
#include "base/record.h"
#include "base/transport.h"
#include "emulator/engine/engine.h"

namespace rankwire {

struct RunOptions {
  Duration deadline = seconds(600);     ///< of run time
  Duration stall_timeout = seconds(5);  ///< without any progress while nothing computes
};

enum class Verdict : uint8_t { kOk, kFailed, kStalled, kInterrupted };

const char* to_string(Verdict verdict);

struct RunResult {
  Verdict verdict = Verdict::kOk;
  std::string reason;                ///< empty when ok
  std::vector<std::string> waiting;  ///< who waits for whom, when the run did not end by itself
  std::vector<JobSpan> jobs;         ///< by JobId; left to whoever has the engine
  Duration busy, total;              ///< run time in which a turn of the loop did something, and all of it
  Histogram turns;                   ///< how long turns of the loop took, in real time; in virtual time empty
};

/// Polls the connected transport until every connection is ready or has failed, `deadline` has passed, or `interrupted`
/// becomes true, and returns the connections that cannot carry messages. What happens here happens at negative run
/// times; the caller starts the clock afterwards.
std::vector<ConnectFailure> establish(Transport& transport, std::span<Device* const> devices, Clock& clock,
                                      Duration deadline, const std::atomic<bool>& interrupted);

/// Drives the engine over the transport until every rank has finished, something failed, nothing moves any more, the
/// deadline has passed, or `interrupted` becomes true (set by a signal handler). `devices` share the loop's core.
RunResult run(Engine& engine, Transport& transport, std::span<Device* const> devices, Clock& clock,
              const RunOptions& options, const std::atomic<bool>& interrupted);

}  // namespace rankwire
