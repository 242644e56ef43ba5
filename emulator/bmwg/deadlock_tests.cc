// T3: whether pauses that wait for each other bring the device to a standstill.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "converters/node_writer.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/needs.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// In a ring of fewer switches no shortest path takes two cables in one direction for certain.
constexpr size_t kLeastPorts = 5;
/// Of a message; what is sent beyond is sent again and again.
constexpr double kMostBytes = 64 << 20;
/// How many times longer than alone on its port it may take on a fabric's shared cables.
constexpr int64_t kSharing = 4;

/// Each rank sends `size` to the one two further, round in a circle. Where switches are joined in a ring in the order
/// of their ports, every cable of it carries what waits for the next.
void write_circle(const std::string& prefix, uint32_t ranks, Bytes size) {
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    NodeWriter writer(trace_file(prefix, rank));
    writer.send("send", rank, (rank + 2) % ranks, 0, size, {});
    writer.receive("receive", (rank + ranks - 2) % ranks, rank, 0, size, {});
    writer.close();
  }
}

/// What stands still, and the circle of queues where the device can be looked into; empty: nothing does.
std::string deadlock_of(const BmwgMeasurement& run) {
  const Json stall = run.summary().value("stall", Json());
  if (!stall.is_object() || stall.value("class", "") != "pfc_deadlock") return {};
  const std::string reason = run.summary().value("reason", "");
  const size_t line = reason.find("the fabric is deadlocked");
  return line == std::string::npos ? stall.value("text", "") : reason.substr(line, reason.find('\n', line) - line);
}

/// Queues that a watchdog freed; nothing where the device does not tell.
std::optional<size_t> queues_freed(const BmwgMeasurement& run) {
  const Json storms = run.summary().value("storms", Json());
  return storms.is_array() ? std::optional(storms.size()) : std::nullopt;
}

/// Why not all arrived. A circle that a watchdog breaks by dropping closes again when what was dropped is sent again:
/// then the run is over by its deadline, about which there is more to say.
std::string shortfall_of(const BmwgMeasurement& run) {
  const size_t freed = queues_freed(run).value_or(0);
  if (freed == 0 || run.summary().value("reason_code", "") != "deadline") return run.reason();
  return fmt::format(
      "{}; a watchdog freed {} queues, and the circle closed again behind it: of {} packets sent {} arrived that were "
      "new",
      run.reason(), freed, run.counter("data_packets_tx"),
      run.counter("data_packets_rx") - run.counter("duplicate_packets"));
}

void circle(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const auto ranks = static_cast<uint32_t>(bench.ports());
  const Duration length = parameters.duration("duration");
  const double bytes = static_cast<double>(length.ps) * 1e-12 * bench.rate() / 8;
  const double iterations = std::ceil(bytes / kMostBytes);
  const Bytes size(static_cast<int64_t>(std::max(1.0, bytes / iterations)));
  const std::string prefix = bench.trace_prefix("circle-trace");
  write_circle(prefix, ranks, size);
  const BmwgMeasurement run =
      bench.attempt("circle",
                    {"workload=null", "workload.traces=" + std::filesystem::absolute(prefix).string(),
                     fmt::format("workload.iterations={:.0f}", iterations), fmt::format("hosts.count={}", ranks),
                     "hosts.npus=1", "hosts.nics=1", "transport.congestion_control=null", "transport.window=1024",
                     fmt::format("run.stall_timeout={}ps", parameters.duration("patience").ps)},
                    length * kSharing);
  const std::string stuck = deadlock_of(run);
  if (stuck.empty() && !run.ended_well() && run.generator_limited()) throw BmwgUndecided("circle: " + run.reason());
  // What stands still has been found whatever pace the generator had.
  if (stuck.empty()) outcome.note(run, "circle");
  outcome.add(measured("PFC deadlocks", stuck.empty() ? 0 : 1, "", {}, 0, stuck));
  outcome.add(
      measured("all of it arrived", run.ended_well() ? 1 : 0, "", 1, {}, run.ended_well() ? "" : shortfall_of(run)));
  outcome.add(measured("PFC PAUSE frames received", static_cast<double>(run.counter("pause_rx")), "frames"));
  outcome.add(measured("packets sent again", static_cast<double>(run.counter("retransmitted")), "packets"));
  if (const std::optional<size_t> freed = queues_freed(run))
    outcome.add(measured("queues that a watchdog freed", static_cast<double>(*freed), ""));
  if (!run.ended_well()) return;
  const double rate = 8 * iterations * static_cast<double>(size.count) / run.completion();
  outcome.add(measured("throughput of a port", rate / bench.rate(), "of line rate"));
}

std::string lacks_circle(const BmwgBench& bench, const BmwgParameters&) {
  if (bench.ports() < kLeastPorts)
    return fmt::format("a circle of buffers takes {} ports or more, and there are {}", kLeastPorts, bench.ports());
  return lacks_lossless_priority(bench);
}

}  // namespace

std::vector<BmwgTest> bmwg_deadlock_tests() {
  return {{"T3.deadlock",
           "PFC deadlock",
           "every port sends to the one two further, round in a circle, in a lossless priority without congestion "
           "control, so that switches that are joined in a ring wait for each other's buffers",
           "all of it arrives: no circle of pauses stands still, or the device frees it",
           "draft-calabria-bmwg-ai-fabric-training-bench-03, PFC Storm and Deadlock Resilience",
           "a lossless priority, in which the data are sent, and five ports",
           {{"duration", "300s", "50ms"}, {"patience", "10s", "1s"}},
           lacks_circle,
           [](const BmwgBench&, const BmwgParameters& p) {
             return static_cast<double>((p.duration("duration") * kSharing + p.duration("patience")).ps) * 1e-12;
           },
           circle}};
}

}  // namespace rankwire
