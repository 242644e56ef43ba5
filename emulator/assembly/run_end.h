// What the record says of a run that has ended, whatever kind of run it was.
#pragma once

#include <functional>
#include <vector>

#include "base/transport.h"
#include "dataplane/impairments/impairments.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/background_traffic.h"
#include "emulator/engine/communication.h"
#include "emulator/engine/compute_times.h"
#include "emulator/engine/run.h"
#include "emulator/record/recorder.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// What a run leaves behind, besides its result. A kind of run leaves null or empty what it does not have.
struct RunOutcome {
  std::vector<Duration> per_rank;  ///< until its last operation ended, by RankId
  /// Of any rank of the workload; empty for runs whose computations have no models of ours.
  std::function<const ComputeTimes&(RankId)> compute_times = nullptr;
  bool planned = true;  ///< the messages of the set-up's plan are what is carried, or stood for
  CommunicationCounters messages = {};
  const Transport* transport = nullptr;                   ///< not closed yet
  std::vector<const Communication*> communications = {};  ///< over `transport`, by worker
  const Impairments* impairments = nullptr;               ///< of its ports
  std::vector<BackgroundCounters> background = {};        ///< of all workers together, by entry
  /// Of a machine's part of a run: what was sent here may have arrived on another, so that nothing is judged.
  bool is_part = false;
};

/// A result that is ok but broke a promise on the way (messages lost, repeated, failed or wrong) becomes one that
/// failed, with the reason. What stands behind a transport, devices and switches, is left to the caller to add, and
/// flows are not in it.
RunEnd run_end(const Setup& setup, RunResult& result, RunOutcome outcome);

/// Parts in which the flows of a large plan go into the record, one after the other: what all of them take at once
/// would be the most that a run takes.
constexpr uint32_t kFlowParts = 8;
/// Records the flows of a run that is open; `flows_of` as Transport::flows_of.
void record_flows(const Setup& setup, const std::function<std::vector<FlowCounters>(ConnectionRange)>& flows_of,
                  RunRecorder::Run& record);

}  // namespace rankwire
