// The tables of `report.html` about packets. Each function returns an empty text when there is nothing to show. All but
// `html_latency` and `html_counters`, which need packets, show the emulated side, else the reference.
#pragma once

#include <string>

#include "emulator/record/reader.h"
#include "emulator/report/flow_statistics.h"

namespace rankwire {

/// Round trip and one way by port, with the clock's error, and a picture of each kind for all ports together.
std::string html_latency(const RunReader& record);
/// Everything that the transport counted and that is not 0.
std::string html_counters(const RunReader& record);
/// The 64 ranks with the most retransmitted packets, then the most bytes.
std::string html_rank_traffic(const RunReader& record, const FlowStatistics& flows);
/// The slowest queue pairs.
std::string html_flows(const RunReader& record, const FlowStatistics& flows);
/// `flows` are those of the same run.
std::string html_ports(const RunReader& record, const FlowStatistics& flows);

}  // namespace rankwire
