// One run of a set-up, of any kind. All open it in the record and close it there whatever its verdict. Several may go
// on at a time, each with an Execution of its own; the set-up they share is constant.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/transport.h"
#include "dataplane/impairments/impairments.h"
#include "dataplane/roce/rate_series.h"
#include "emulator/assembly/machine_run.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/communication_times.h"
#include "emulator/engine/live_feed.h"
#include "emulator/engine/node_variation.h"
#include "emulator/engine/run.h"
#include "emulator/record/recorder.h"
#include "emulator/simulator/link_sharing.h"
#include "emulator/symmetry/quotient.h"

namespace rankwire {

/// The workers of a run in real time.
struct Workers {
  const WorkerShares& shares;              ///< with those of other machines, if there are any
  std::span<Transport* const> transports;  ///< one each; none where there is one worker
  std::span<const uint32_t> cpus;          ///< on which their threads stay, one each; none: on any

  bool several() const { return !transports.empty(); }
};

struct Execution {
  Fidelity fidelity = Fidelity::kEmulated;
  const char* clock_name = "real";  ///< "real" or "virtual", as the record says it
  Clock& clock;
  Transport& transport;                      ///< of all workers together
  Testbed* testbed;                          ///< behind the transport; null when there is none
  const Impairments* impairments = nullptr;  ///< of the transport's ports; null when there are none
  const Workers* workers = nullptr;          ///< of a run in real time; null: there is one
  const char* model = "";                    ///< of one of `simulation.fidelity`: its name in the record
  const NodeVariation* variation = nullptr;  ///< of the times of nodes; null: the set-up's, if it has one
  Repetition repetition = {};
  LiveFeed* live = nullptr;            ///< of a run in real time; null: nobody looks on
  std::span<RateSeries> rates = {};    ///< that the transports write; none: they are not sampled
  Duration spent = {};                 ///< of `run.deadline`, by repetitions before this one
  LiveMeasurements* beside = nullptr;  ///< what else is measured while it goes on; null: nothing
  MachineRun* machine = nullptr;  ///< this machine's part of a run over several, with its clock; null: there is one
  /// The clock goes; empty: nobody waits for it.
  std::function<void()> begun = nullptr;
  /// Adds what only the kind of transport tells. Empty: there is nothing.
  std::function<void(RunEnd& end)> complete = nullptr;
};

/// " 3 of 10" of a run that is repeated, else nothing.
std::string ordinal(const Repetition& repetition);

/// Prepares and connects the transport, runs, and closes the run in the record whatever its verdict. A run whose
/// connections cannot be made has failed, with a total time of 0; on several machines that throws Error(kRun).
RunResult execute(const Setup& setup, const Execution& execution, RunRecorder::Run& record, const RunControl& control);

/// The same with a testbed, whose capture, the file `capture`, is completed, also where it throws: what was on the wire
/// may show why.
RunResult execute_captured(const Setup& setup, const Execution& execution, const char* capture,
                           RunRecorder::Run& record, const RunControl& control);

/// What a quotient of the reference is asked beside its times.
struct FoldedQuestions {
  std::span<const JobId> jobs = {};  ///< as FoldedRun has them
  /// Rows of the record for what the jobs share on links of the whole run.
  std::function<std::vector<SharedLinkRow>(std::span<const SharedLink>)> shared_links = nullptr;
};

/// Runs the quotient of the reference, named `model` in the record, and tells of the whole run. Empty when it cannot
/// stand for that; nothing is recorded then. Not where all messages are recorded.
std::optional<RunResult> execute_folded(const Setup& setup, const Quotient& quotient, const char* model,
                                        const FoldedQuestions& questions, RunRecorder::Run& record,
                                        const RunControl& control);

/// A reference, named `model` in the record, whose operations take known times, in virtual time; nothing is sent.
RunResult execute_timed(const Setup& setup, const CommunicationTimes& times, const char* model,
                        RunRecorder::Run& record, const RunControl& control);

/// The program of ASTRA-sim's semantics that the set-up has. The n-th node of rank r is OperationRecord::node n.
RunResult execute_astra(const Setup& setup, RunRecorder::Run& record, const RunControl& control);

}  // namespace rankwire
