// From a configuration to everything that a run needs, before any device is touched.
#pragma once

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "dataplane/impairments/impairment.h"
#include "dataplane/roce/options.h"
#include "emulator/assembly/astra.h"
#include "emulator/engine/background_plan.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/plan.h"
#include "emulator/engine/run.h"
#include "emulator/input/config.h"
#include "emulator/record/run_record.h"
#include "emulator/workload/placement.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// What the reference takes instead of the plan with `simulation.fidelity: astra`.
struct AstraReference {
  AstraModel model;
  AstraWorkload workload;
};

/// The ends of traffic without a trace, each once.
struct BackgroundEnds {
  /// Places in `places`.
  struct OfEntry {
    std::vector<uint32_t> from, to;
  };
  std::vector<Place> places;
  std::vector<std::string> names;
  std::vector<OfEntry> entries;
};

/// A run that could start: read, validated, placed and planned. Parts refer to each other, so it does not move.
struct Setup {
  RunConfig config;
  std::string machine;  ///< of several that make the run, the one that this process is; empty: there is one
  bool folds = false;   ///< nobody runs it, so that the workload may be folded; to be set before `prepare`
  Warnings warnings;
  Workload workload;
  Placement placement;
  std::unique_ptr<NodeVariation> variation;  ///< of the times of nodes; null when there is none
  ScheduleOptions schedules;
  std::deque<ScheduleOptions> own_schedules;             ///< of jobs that do not have those
  std::vector<const ScheduleOptions*> schedules_of_job;  ///< by JobId: one of the above
  Plan plan;
  std::vector<ImpairmentRule> impairments;
  std::vector<CongestionException> congestion_exceptions;
  std::vector<JobMarking> job_markings;
  std::optional<AstraReference> astra;
  BackgroundEnds background_ends;
  BackgroundPlan background;  ///< whose flows are in `plan`, behind those of the jobs

  /// Whether this process drives the port, if it is one of a device.
  bool is_here(PortId port) const {
    const PortConfig& of = config.ports[port.value];
    return !of.modelled && (machine.empty() || of.on == machine);
  }
  /// Whether part of what goes from host to host is modelled: with `hybrid`, where not all is on wires.
  bool is_hybrid() const {
    return std::ranges::any_of(plan.transport.connections,
                               [](const Connection& c) { return c.path == Path::kModelled; });
  }

  Setup() = default;
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
};

/// Without ports nothing is placed and planned. Fills `setup.config` first, so that the caller can name the run folder;
/// generated traces are written to `folder`/traces. Throws Error(kInput).
void prepare(Setup& setup, const RunConfig& config, const std::filesystem::path& folder);

/// Hosts, NPUs and NICs with their defaults filled in, and the places of the one workload; those of `jobs` are not.
PlacementOptions placement_options(const RunConfig& config, uint32_t ranks);
EngineOptions engine_options(const RunConfig& config);
RunOptions run_options(const RunConfig& config);
/// Executions of the rank in all iterations of its job, 0 where that is idle.
uint64_t planned_operations(const RunConfig& config, const Workload& workload, RankId rank);
/// Of all ranks.
uint64_t planned_operations(const RunConfig& config, const Workload& workload);
/// The most rows of a kind that a run adds to its record.
uint64_t planned_rows(const Setup& setup);
/// What the record says of a node.
NodeInfo node_info(const Workload& workload, RankId rank, uint32_t place, const Node& node);

}  // namespace rankwire
