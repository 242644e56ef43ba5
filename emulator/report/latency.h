// Packet latencies in words.
#pragma once

#include <span>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// "round trip", "one way".
const char* readable(LatencyKind kind);

/// How far off the clock behind a latency can be: "hardware time stamps, within 12 ns", "arrival noticed within 230 ns
/// at the median", or "exact, virtual time".
std::string describe_clock(const RecordedRun& run, const LatencyRow& latency);

/// The row of all ports together; null when nothing of the kind was measured.
const LatencyRow* latency_of_all_ports(std::span<const LatencyRow> latencies, LatencyKind kind);

}  // namespace rankwire
