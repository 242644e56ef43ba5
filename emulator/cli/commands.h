// What each verb does. All return the exit status: 0 ok, 1 failed, 3 nothing failed but something cannot be told; usage
// and configuration errors are thrown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "emulator/assembly/run.h"
#include "emulator/cli/gating.h"
#include "emulator/cli/point_part.h"
#include "emulator/input/config.h"
#include "emulator/report/nccl_tests.h"

namespace rankwire {

enum class OutputForm : uint8_t { kTable, kJson };

/// Options that `run` and `simulate` share.
struct RunRequest {
  std::string config;
  std::filesystem::path out;  ///< empty: runs/NAME, NAME from the configuration; numbered where it holds a run
  bool overwrite = false;     ///< also a folder that holds a run
  std::vector<std::string> settings;
  OutputForm form = OutputForm::kTable;       ///< of what is printed
  bool strict = false;                        ///< a run that the generator limited counts as failed
  bool measure = true;                        ///< `check`: also what this machine can embed
  bool ask_devices = true;                    ///< `check`: also what the devices under test count
  bool certify = false;                       ///< `check`: also what the generator adds of its own
  bool certify_ports = false;                 ///< and its ports, which then send
  std::optional<ClusterMeasurement> cluster;  ///< `collective`: to show beside it
  GateRequest gating;
  std::string machine;        ///< `run`: what this process's machine is called in `ports[].on`; empty: as by the system
  bool together = false;      ///< `simulate`: beside the processes that were started with this one, which help it
  bool silent = false;        ///< nothing is printed of a run: whoever asks for it tells of it
  OpenPorts* open = nullptr;  ///< of the emulated runs of this process; null: its own. Not owned
  std::string live;           ///< `run`: where the page of the run is served, as parse_listen reads it; empty: nowhere
};

/// What `simulate` runs, with `--twin` and without.
RunKind simulation_kind(bool twin);

int run_emulation(const RunRequest& request);
/// The models of `simulation.fidelity` only; with `twin` the packet-level twin too, once, whether it is among them or
/// not.
int run_simulation(const RunRequest& request, bool twin);
/// What is run of `kind`, of a configuration that need not be in a file; `request.config` and `settings` are not looked
/// at.
int run_configuration(const RunRequest& request, RunConfig config, RunKind kind);

/// Options of `simulate --sweep` and `run --sweep`.
struct SweepRequest {
  RunRequest run;  ///< out: empty for runs/NAME-sweep
  RunKind kind = RunKind::kModels;
  std::vector<std::string> axes;  ///< as `parse_sweep_axis` reads them
  uint32_t jobs = 1;              ///< processes at a time, > 0; 1 for emulated runs, which share the devices
  std::string columns = {};       ///< further ones, as `asked_columns` reads them
  PointPart part = {};            ///< of simulations: the points that this process runs, with `run.out` for all parts
};
/// Runs every combination as `run_points` does; returns the worst of their statuses, of a part of its own. Writes
/// sweep.json, sweep.csv, sweep.html, and a run folder a point.
int run_sweep(const SweepRequest& request);

/// Options of `study`.
struct StudyRequest {
  std::string file;
  std::filesystem::path out;             ///< empty: runs/NAME, NAME from the study; numbered where it holds a run
  bool overwrite = false;                ///< also a folder that holds a run
  std::vector<std::string> settings;     ///< of all points, after their own
  std::vector<std::string> figures;      ///< names of those to draw; empty: all
  std::vector<std::string> groups;       ///< labels of those to draw; empty: all
  OutputForm form = OutputForm::kTable;  ///< of what is printed
  bool twin = false;
  uint32_t jobs = 1;         ///< processes at a time, > 0
  std::string columns = {};  ///< further ones of the tables, as `asked_columns` reads them
  PointPart part = {};       ///< the points that this process runs, with `out` for all parts
};
/// Simulates every point in a process of its own, equal ones once; returns the worst of their statuses, of a part of
/// its own. Writes
/// study.json, study.csv, study.html, and a run folder a point.
int run_study(const StudyRequest& request);

/// Options of `interference`.
struct InterferenceRequest {
  RunRequest run;  ///< out: empty for runs/NAME-interference
  RunKind kind = RunKind::kEmulated;
  bool pairs = true;                  ///< also each two jobs by themselves
  std::optional<uint32_t> processes;  ///< at a time, > 0; absent: one a core; emulated runs are always alone
};
/// Runs all jobs, each alone and each two together, in processes of their own; returns the worst of their statuses.
/// Writes interference.json, interference.csv, interference.html, and a run folder a run.
int run_interference(const InterferenceRequest& request);
int check_configuration(const RunRequest& request);
int list_devices(OutputForm form);
/// Of repetitions the given one, or that which stands for all.
/// With `gating` the status is that of `run`.
struct ReportRequest {
  std::string folder, formats;
  std::optional<uint32_t> repetition;
  GateRequest gating;
  OutputForm form = OutputForm::kTable;  ///< of what is printed
};
int draw_report(const ReportRequest& request);
/// The page alone, into `file`.
int draw_page(const std::filesystem::path& folder, std::optional<uint32_t> repetition,
              const std::filesystem::path& file);
/// Prints the collectives by kernel, and writes replay.csv. `base`: a run folder or a replay.csv to compare with;
/// empty: none.
int draw_replay(const std::filesystem::path& folder, std::optional<uint32_t> repetition,
                const std::filesystem::path& base);
/// Options of `compare`.
struct CompareRequest {
  std::filesystem::path base, other;
  std::vector<std::filesystem::path> bases, others;  ///< further run folders of either side
  OutputForm form = OutputForm::kTable;              ///< of what is printed
  std::optional<double> most;                        ///< of other's completion time over base's; absent: any
  GateRequest gating;                                ///< of the comparison's figures
  bool unlike = false;                               ///< also runs of different workloads
};
/// Prints both sides. `other` may be output of nccl-tests where base measured a collective: its sizes side by side. 1
/// when `most` is exceeded or there is nothing to compare it with, and 3 where the ratio is nearer to it than what any
/// generator was certified to add of its own. Throws Error(kInput) when the workloads differ.
int compare_runs(const CompareRequest& request);
/// Options of `trace generate`.
struct GenerateRequest {
  std::string specification;  ///< a file, or "micro"
  std::string micro_case;     ///< with "micro"
  std::string prefix;
  bool list = false;   ///< print the cases of "micro" instead
  bool force = false;  ///< also more than kMostGeneratedNodes
  OutputForm form = OutputForm::kTable;
};
int generate_traces(const GenerateRequest& request);

}  // namespace rankwire
