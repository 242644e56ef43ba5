#include "emulator/report/latency.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/report/format.h"

namespace rankwire {

const char* readable(LatencyKind kind) {
  return kind == LatencyKind::kRoundTrip ? "round trip" : "one way";
}

std::string describe_clock(const RecordedRun& run, const LatencyRow& latency) {
  if (run.start.clock == "virtual") return "exact, virtual time";
  if (latency.hardware_time) return fmt::format("hardware time stamps, within {}", readable(latency.error));
  return fmt::format("arrival noticed within {} at the median", readable(latency.error));
}

const LatencyRow* latency_of_all_ports(std::span<const LatencyRow> latencies, LatencyKind kind) {
  const auto row =
      std::ranges::find_if(latencies, [&](const LatencyRow& l) { return l.kind == kind && !l.port.valid(); });
  return row == latencies.end() ? nullptr : &*row;
}

}  // namespace rankwire
