#include "emulator/assembly/connecting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "base/error.h"
#include "emulator/assembly/machine_run.h"
#include "emulator/assembly/run_end.h"

namespace rankwire {
namespace {

/// A transport may name a connection for each of its ends: each once, as it was named first.
std::vector<ConnectFailure> each_once(std::span<const ConnectFailure> failures) {
  std::set<ConnectionId> known;
  std::vector<ConnectFailure> once;
  for (const ConnectFailure& failure : failures)
    if (known.insert(failure.connection).second) once.push_back(failure);
  return once;
}

std::string unconnected_text(const Setup& setup, std::span<const ConnectFailure> failures) {
  const Connection& c = setup.plan.transport.connections[failures.front().connection.value];
  return fmt::format("{} of {} connections failed; the first, from rank {} to rank {}: {}", failures.size(),
                     setup.plan.transport.connections.size(), c.source.value, c.destination.value,
                     failures.front().reason);
}

/// Some of many, evenly, so that they share what all do.
std::vector<FailureRow> unconnected_rows(const Setup& setup, const Transport& transport,
                                         std::span<const ConnectFailure> failures) {
  constexpr size_t kMost = 1024;
  std::vector<FailureRow> rows;
  const size_t count = std::min(failures.size(), kMost);
  for (size_t i = 0; i < count; ++i) {
    const ConnectFailure& failure = failures[i * failures.size() / count];
    rows.push_back({.connection = setup.plan.transport.connections[failure.connection.value],
                    .operation = {},
                    .message = {},
                    .reason = failure.reason,
                    .state = transport.describe(failure.connection)});
  }
  return rows;
}

}  // namespace

std::vector<ConnectFailure> connect(const Setup& setup, const Execution& execution, std::span<Device* const> devices,
                                    const std::atomic<bool>& interrupted) {
  Transport& transport = execution.transport;
  std::vector<EndPoint> ends =
      transport.prepare(execution.machine != nullptr ? execution.machine->plan() : setup.plan.transport);
  std::function<bool()> others_ready;
  if (execution.machine != nullptr) {
    execution.machine->exchange(ends);
    others_ready = [&] { return execution.machine->all_ready(transport.ready()); };
  }
  std::vector<ConnectFailure> failures = each_once(transport.connect(ends));
  if (failures.empty())
    failures =
        each_once(establish(transport, devices, execution.clock, setup.config.run.deadline, interrupted, others_ready));
  if (interrupted.load()) failures.clear();
  if (execution.machine == nullptr) return failures;
  if (!failures.empty()) fail_run("{}", unconnected_text(setup, failures));
  // The others wait for this machine.
  if (interrupted.load()) fail_run("stopped by a signal");
  return {};
}

RunEnd unconnected_end(const Setup& setup, const Transport& transport, std::span<const ConnectFailure> failures,
                       RunResult& result) {
  result.verdict = Verdict::kFailed;
  result.reason = unconnected_text(setup, failures);
  RunEnd end =
      run_end(setup, result, {.per_rank = std::vector<Duration>(setup.workload.ranks.size()), .transport = &transport});
  end.messages = 0;  // what was planned has not been tried
  end.bytes = end.bytes_wire = end.bytes_local = Bytes();
  end.failures = unconnected_rows(setup, transport, failures);
  return end;
}

}  // namespace rankwire
