// A run in three calls, for whoever has no command line: resolve what is to be run, prepare it, run it.
//
//   const ResolvedRun resolved = resolve("run.yaml", settings, RunKind::kModels);
//   PreparedRun prepared(resolved, {"runs/mine"});
//   const std::vector<CompletedRun> runs = prepared.run({stop});
//
// Nothing is printed. What is found doubtful is in `setup().warnings`, the outcome in the results, all else in the
// record of the run folder, which `RunReader` reads and `write_report` draws.
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/affinity.h"
#include "emulator/assembly/ensemble.h"
#include "emulator/assembly/flow_run.h"
#include "emulator/assembly/open_ports.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/node_variation.h"
#include "emulator/input/config.h"
#include "emulator/record/certificate.h"
#include "emulator/record/recorder.h"

namespace rankwire {

class MachineRun;
class Machines;
class MachineStop;
class Testbed;

/// What is run before the models of `simulation.fidelity`.
enum class RunKind : uint8_t {
  kModels,    ///< nothing
  kTwin,      ///< the packet-level twin, in virtual time, unless it is among the models
  kEmulated,  ///< the emulated run, over the configuration's ports, in real time
};

/// A valid configuration that leaves nothing open of which plan or reference would depend on devices.
struct ResolvedRun {
  RunConfig config;
  RunKind kind = RunKind::kModels;
};

/// Reads a configuration as `load_config` does. RDMA devices are asked for the path MTU that an emulated run leaves to
/// them; otherwise no device is touched. `machines`: of an emulated run over several, all of which come here; each asks
/// its own, and the least counts. Throws Error(kInput) naming file, line and key, also where `kind` needs ports that
/// are not there.
ResolvedRun resolve(const std::string& file, std::span<const std::string> settings, RunKind kind,
                    Machines* machines = nullptr);
/// The same of one that has been read, or was never in a file.
ResolvedRun resolve(RunConfig config, RunKind kind, Machines* machines = nullptr);

/// One run of the record.
struct CompletedRun {
  Fidelity fidelity = Fidelity::kEmulated;  ///< of a configuration that is repeated the first ones are all emulated
  std::string model;                        ///< its name in `simulation.fidelity`; empty for what was run before those
  RunResult result;
};

bool all_ok(std::span<const CompletedRun> runs);

/// A run that can start, with its folder, which nobody else writes into as long as this exists, and its open record.
/// Belongs to one thread.
class PreparedRun {
 public:
  /// Makes the folder, loads, places and plans, and removes what an earlier run has left in the folder. Touches no
  /// device. Throws Error(kInput) for what is wrong with the configuration or its files, or when somebody writes into
  /// the folder, Error(kRun) when it cannot be written. `open` are the ports of the runs of this process, and outlives
  /// it; null: its emulated run has its own, which are closed when that is over.
  ///
  /// `machines`, borrowed, are those of an emulated run whose ports name some, else null. Then each makes one of these,
  /// the leader of the folder of the run, the others of part_folder in it; what one of them finds wrong all throw.
  PreparedRun(const ResolvedRun& resolved, const FolderChoice& folder, OpenPorts* open = nullptr,
              Machines* machines = nullptr);
  /// The folder of a run that has not begun goes with it.
  ~PreparedRun();
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;

  /// Before `run`: what the generator was found to add of its own goes into the record, with what `run` then finds of
  /// its ports (measure_ports) before anything else.
  void certified(Certificate certificate);
  /// Of an emulated run that has not begun: opens its ports and has them send, as certify_ports does. They stay open
  /// for the run. None of the embedded switch. Throws Error where they cannot be opened.
  std::vector<PortCertificate> measure_ports(const RunControl& control);
  /// With the warnings that are known so far; they are in the record, too.
  const Setup& setup() const { return setup_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  /// Runs everything and closes the record. An emulated run has the machine to itself, and so has each of its
  /// repetitions (`run.repeat`), one after the other over ports that stay open: one that does not end well does not
  /// keep others from their turn, unless it was interrupted or `run.deadline`, which is of all together, has passed.
  /// Then the twin and the models run, and then each job alone, up to `simulation.threads` at a time, on threads of
  /// their own. Results and record are the same however many there are, in the order of the configuration. Once, and
  /// blocks until all is done or `control` ends it. A verdict that is not ok is a result; Error is thrown when devices
  /// cannot be had or connections not be made. Of what runs in virtual time one that throws holds up no other: the
  /// first error is thrown when all have ended, and the record has those that ended, and of those that threw why.
  std::vector<CompletedRun> run(const RunControl& control);
  /// After `run`, also one that has thrown: whether anything of it began, so that the folder has a record.
  bool has_begun() const { return has_begun_; }
  /// After a `run` that has thrown: whether the record says why, and keeps what else was run.
  bool tells_failure() const { return tells_failure_; }

 private:
  void close_record();
  void record_failure(const std::exception& error);
  void take_warnings(size_t first);
  void complete_certificate(const RunControl& control);
  void record_nodes();
  void record_requests();
  void record_jobs();
  void run_models(uint32_t threads, const RunControl& control, std::vector<CompletedRun>& runs);
  void run_further(std::span<const CompletedRun> runs, uint32_t threads, const RunControl& control,
                   const MachineStop* stop);
  /// The run that takes the place of `flow`.
  struct MedianRun {
    std::unique_ptr<NodeVariation> variation;  ///< its differences; null: there is none
    Nics nics = Nics::kIdeal;
    std::vector<JobSpan> jobs;

    FlowVariant variant() const { return {.variation = variation.get(), .nics = nics}; }
  };
  MedianRun record_median(std::span<const CompletedRun> runs, const Ensemble& ensemble, const RunControl& control);
  std::exception_ptr record_jobs_alone(std::span<const CompletedRun> runs, const MedianRun& median, uint32_t threads,
                                       const RunControl& control);
  std::vector<CompletedRun> emulate_all(const RunControl& control);
  std::exception_ptr emulate_as_far_as_it_goes(const RunControl& control, std::vector<CompletedRun>& runs);
  CompletedRun emulate(const Repetition& repetition, Duration spent, RunRecorder::Run record, MachineRun* machine,
                       const RunControl& control);
  CompletedRun emulate_part(RunRecorder& recorder, MachineRun& machine, const RunControl& control);
  CompletedRun emulate_on_machines(const RunControl& control);
  CompletedRun put_together(MachineRun& machine, const CompletedRun& own);
  std::unique_ptr<Testbed> open_testbed(const WorkerShares& shares, const RunControl& control);

  /// A run in virtual time. Several go on at a time; they share the set-up and the recorder.
  struct VirtualRun {
    SimulationFidelity model;
    const char* name;        ///< in the record; empty where the twin stands for an emulated run
    const char* capture;     ///< file of a twin
    bool stretched = false;  ///< over the network that the configuration describes, whatever is on the wires
    bool whole = false;      ///< with all ranks on wires, whatever `hybrid` says
  };
  const Setup& setup_of(const VirtualRun& run) const {
    return run.stretched ? *stretched_ : run.whole ? *whole_ : setup_;
  }
  std::vector<VirtualRun> virtual_runs() const;
  RunStart start_of(const VirtualRun& run) const;
  CompletedRun run_model(const VirtualRun& run, RunRecorder::Run record, const RunControl& control) const;
  CompletedRun run_twin(const VirtualRun& run, RunRecorder::Run& record, const RunControl& control) const;

  const RunKind kind_;
  Machines* const machines_;
  RunFolder folder_;
  Setup setup_;                         ///< of what is on the wires
  std::optional<Setup> stretched_;      ///< of the network of the job, where a device keeps a run from having that
  std::optional<Setup> whole_;          ///< with all ranks on wires, where a twin of a hybrid run has them
  WorkerThreads threads_;               ///< of the emulated run
  std::optional<AvoidedCpus> avoided_;  ///< those of the workers, by all other threads, until the emulated run is over
  OpenPorts own_;                       ///< where nobody else has them
  OpenPorts& open_;
  std::optional<RunRecorder> recorder_;  ///< until the run has ended
  std::optional<Certificate> certificate_;
  bool has_begun_ = false, tells_failure_ = false;
};

}  // namespace rankwire
