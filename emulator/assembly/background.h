// Traffic without a trace: where its ends stand, who sends to whom, and what the record says of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/engine/background_traffic.h"
#include "emulator/record/run_record.h"
#include "emulator/workload/placement.h"

namespace rankwire {

/// The ends that the configuration names, each once: hosts with their first NIC, and ports with the first NIC behind
/// them. Where no rank has that, there is one. `placed` are the ranks, by `options`. Throws Error(kInput), naming file,
/// line and key, for a host of which nobody knows what port it stands behind.
BackgroundEnds background_ends(const RunConfig& config, const Placement& placed, const PlacementOptions& options);

/// Adds the flows to the plan and to `setup.background`; those of entries that send behind one port are refused, since
/// they never meet the network. Throws Error(kInput).
void plan_background(Setup& setup);

/// Whether a model of the reference knows the background.
bool knows_background(SimulationFidelity model);

std::vector<BackgroundInfo> background_infos(const Setup& setup);
/// What became of it, of all workers together.
std::vector<BackgroundRow> background_rows(std::span<const BackgroundCounters> counters);
/// What a person should know: flows that failed, and entries of which nothing arrived for `silence` before `end`.
std::vector<std::string> background_findings(const BackgroundPlan& background,
                                             std::span<const BackgroundCounters> counters, Time end, Duration silence);

/// What a port is offered by flows at a rate and in how many flows it is an end, while all are on.
struct BackgroundLoad {
  uint32_t flows_tx = 0, flows_rx = 0;
  Bandwidth offered_tx, offered_rx;  ///< of the line, with what frames add to the payload
};
/// By port.
std::vector<BackgroundLoad> background_loads(const Setup& setup);

}  // namespace rankwire
