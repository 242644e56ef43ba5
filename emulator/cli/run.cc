// `run` and `simulate`: emulated, twin and reference runs into one record, and the report of it.
#include "emulator/assembly/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/call_deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/assembly/certification.h"
#include "emulator/assembly/dilation.h"
#include "emulator/assembly/ensemble_sharing.h"
#include "emulator/assembly/limits.h"
#include "emulator/assembly/machine_report.h"
#include "emulator/assembly/machine_run.h"
#include "emulator/assembly/machine_shares.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/cli/run_page.h"
#include "emulator/cli/scratch_folder.h"
#include "emulator/machines/launch.h"
#include "emulator/machines/machines.h"
#include "emulator/record/database.h"
#include "emulator/record/reader.h"
#include "emulator/record/record_version.h"
#include "emulator/report/assessment.h"
#include "emulator/report/band.h"
#include "emulator/report/cluster.h"
#include "emulator/report/collective_table.h"
#include "emulator/report/findings.h"
#include "emulator/report/output_file.h"
#include "emulator/report/replay.h"
#include "emulator/report/report.h"
#include "emulator/report/summary.h"
#include "emulator/report/summary_table.h"
#include "emulator/suite/gate_figures.h"

namespace rankwire {
namespace {

/// What the generator adds of its own, where the configuration asks for that, or a limit hangs on it. Before anything
/// else of the run: it takes memory, and no device yet.
std::optional<Certificate> certificate_of(const ResolvedRun& resolved) {
  if (resolved.kind != RunKind::kEmulated || !is_certified(resolved.config)) return std::nullopt;
  const ScratchFolder scratch;
  return certify(resolved.config, scratch.path(), interrupt_flag());
}

void answer(std::span<const std::string> lines) {
  log_answer(fmt::format("{}", fmt::join(lines, "\n")));
}

/// Signals end a run or ask how it stands, and a terminal and a page show how far it is.
void run_watched(PreparedRun& prepared, RunPage& page) {
  ProgressLine line;
  prepared.run({interrupt_flag(),
                [&](WatchedRun run) {
                  std::shared_ptr<void> on_page = page.watch(run);
                  const uint64_t operations = run.operations;
                  std::shared_ptr<void> on_line = line.show({.label = std::move(run.label),
                                                             .total = [operations] { return operations; },
                                                             .done = std::move(run.done),
                                                             .unit = "operations",
                                                             .share = std::move(run.share)});
                  return std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(std::move(on_page),
                                                                                                   std::move(on_line));
                },
                log_warning, &inquiries(), answer, page.look_on(), &hold_flag(), interruption});
}

/// A few, the gravest first, of a run that was not ok.
std::string found_text(const std::vector<std::string>& findings) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(findings.size(), kMost); ++i)
    text += fmt::format("{}{}\n", i == 0 ? "# Found                : " : "#                        ", findings[i]);
  if (findings.size() > kMost)
    text += fmt::format("#                        and {} more, in report.html\n", findings.size() - kMost);
  return text;
}

/// What is printed of a measured collective: the table as nccl-tests has it, beside a cluster's, and how the run ended.
std::string measured_text(const RunReader& reader, const RecordFigures& figures) {
  const std::optional<ClusterComparison>& cluster = figures.cluster;
  std::string text = collective_text(*figures.collective);
  if (cluster) text += "#\n" + cluster_text(*cluster);
  if (const std::string band = band_text(reader); !band.empty())
    text += fmt::format("# Reference band       : {}\n", band);
  text += fmt::format("# Verdict              : {}\n", verdict_text(reader));
  if (verdict_of(reader).verdict != "ok") text += found_text(findings(reader, figures.diagnosis));
  if (const FidelityAssessment fidelity = assess_fidelity(reader); fidelity.fidelity != "ok") {
    text += fmt::format("# Fidelity             : {}: {}\n", fidelity.fidelity, explain_fidelity(reader));
    for (const std::string& reason : fidelity.reasons) text += fmt::format("#                        {}\n", reason);
  }
  return text + fmt::format("# Report               : {}\n", (reader.folder() / "report.html").string());
}

/// The run's name in its configuration.
std::string run_name(const nlohmann::ordered_json& summary) {
  const auto config = summary.find("config");
  return config != summary.end() && config->is_object() ? config->value("name", "run") : "run";
}

/// Draws the record, prints the summary, and turns the verdict into an exit status.
int finish(const std::filesystem::path& folder, const RunRequest& request, RunPage& page, Gating& gating) {
  const RecordFigures figures = write_report(folder, standard_formats(), request.cluster);
  const RunReader reader(folder);
  nlohmann::ordered_json summary = rankwire::summary(reader, figures);
  if (figures.cluster) summary["cluster"] = cluster_json(*figures.cluster);
  if (gating.is_asked()) gating.judge(run_name(summary), gate_figures(reader, summary, gating.gates()));
  gating.add_to(summary);
  if (request.silent) return exit_status(verdict_of(reader).verdict);
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", summary.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}{}", printable(figures.collective ? measured_text(reader, figures) : summary_table(reader, figures)),
               gating.table());
  }
  std::fflush(stdout);
  const RecordVerdict verdict = verdict_of(reader);
  page.end({verdict.verdict, verdict.reason, std::filesystem::absolute(folder).string()});
  // With --strict what passes is told of below.
  const bool is_told = verdict.verdict == "ok" || (verdict.passes() && request.strict);
  if (!is_told && log_verbosity() == Verbosity::kQuiet) log_error(verdict_text(reader));
  if (log_verbosity() == Verbosity::kQuiet) gating.log_trouble();
  if (!verdict.passes() || !request.strict) return exit_status(verdict.verdict);
  if (verdict.verdict != "ok") log_error("--strict: " + verdict_text(reader));
  if (summary.at("fidelity") != "ok") log_error("--strict: " + explain_fidelity(reader));
  return verdict.verdict == "ok" && summary.at("fidelity") == "ok" ? 0 : 1;
}

/// Draws what a run that ended by an error has recorded, if anything can be drawn.
std::optional<RecordFigures> drawn_anyway(const std::filesystem::path& folder) {
  try {
    return write_report(folder);
  } catch (const std::exception&) {  // for which the error may be the reason
    return std::nullopt;
  }
}

/// A run that ended by an error says so in its report and summary, as far as these can be written, and on `--json`.
/// `is_written`: its record says so, too.
void give_up(const std::filesystem::path& folder, const RunRequest& request, const std::exception& error,
             bool is_written, Gating& gating) {
  nlohmann::ordered_json json;
  try {
    const std::optional<RecordFigures> figures = is_written ? drawn_anyway(folder) : std::nullopt;
    const RunReader record(folder);
    json = figures ? rankwire::summary(record, *figures) : rankwire::summary(record);
  } catch (const std::exception&) {  // nothing of the record was written
  }
  json["verdict"] = "failed";
  json["reason"] = error.what();
  json["reason_code"] = is_written ? "error" : "not_written";
  gating.judge(run_name(json), json);
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (request.form == OutputForm::kJson) fmt::print("{}", text);
  std::fflush(stdout);
  try {
    write_file(folder / "summary.json", text);
  } catch (const Error&) {  // for which the error may be the reason
  }
}

/// `machines`: those of which this one leads; null: there is one.
int run_and_report(const RunRequest& request, const ResolvedRun& resolved, Machines* machines = nullptr) {
  const FolderChoice folder{request.out, std::filesystem::path("runs") / resolved.config.name, request.overwrite};
  Gating gating(request.gating, folder.out.empty() ? folder.standard : folder.out);
  RunPage page(request.live, resolved.config.name);
  const std::optional<Certificate> certificate = machines == nullptr ? certificate_of(resolved) : std::nullopt;
  std::optional<FilesStopOnSignal> preparing(std::in_place);
  PreparedRun prepared(resolved, folder, request.open, machines);
  preparing.reset();
  if (!request.silent)
    for (const std::string& warning : prepared.setup().warnings) log_warning(warning);
  if (certificate) prepared.certified(*certificate);
  page.start(prepared.folder());
  bool is_recorded = false;
  int status = 0;
  try {
    if (request.silent) {
      prepared.run({interrupt_flag(), nullptr, nullptr, &inquiries(), answer, nullptr, &hold_flag()});
    } else {
      run_watched(prepared, page);
    }
    is_recorded = true;
    status = finish(prepared.folder(), request, page, gating);
  } catch (const std::exception& error) {
    page.end({"failed", error.what(), ""});
    // What fails once the record is complete is the writing of the report.
    if (prepared.has_begun())
      give_up(prepared.folder(), request, error, !is_recorded && prepared.tells_failure(), gating);
    throw;
  }
  return worse_status(status, gating.status());
}

constexpr std::chrono::seconds kLongestJoin{60};

/// MPI waits for all that were started, also for one that has died before it was there.
std::unique_ptr<MachineLinks> join_others() {
  const CallDeadline deadline(kLongestJoin, [] {
    log_error(fmt::format(
        "MPI has not started within {} s: it waits for all processes that were started together. One of them may have "
        "died, or another program than rankwire been started beside it",
        kLongestJoin.count()));
    std::_Exit(1);
  });
  return join_machines();
}

std::string name_of_this_machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string host = name.data();
  return host.substr(0, host.find('.'));
}

/// A run of one process. Its ports may name the machine that this is.
int run_alone(const RunRequest& request) {
  ResolvedRun resolved = resolve(request.config, request.settings, RunKind::kEmulated);
  be_only_machine(resolved.config, request.machine.empty() ? name_of_this_machine() : request.machine);
  return run_and_report(request, resolved);
}

/// The part of a machine that does not lead: it prints nothing.
void run_part(const RunRequest& request, Machines& machines) {
  const ResolvedRun resolved = resolve(request.config, request.settings, RunKind::kEmulated, &machines);
  const std::filesystem::path folder = machines.from_leader("");
  PreparedRun prepared(resolved, {part_folder(folder, machines.own_name()), {}, true}, nullptr, &machines);
  prepared.run({interrupt_flag()});
}

/// Of a simulation, which the leader records: this process has members of its ensemble alone.
void help_simulation(const RunRequest& request, RunKind kind, Machines& machines) {
  const ResolvedRun resolved = resolve(request.config, request.settings, kind);
  machines.from_leader("");  // the leader's folder, in which nothing of this process is
  const ScratchFolder scratch;
  Setup setup;
  prepare(setup, on_wires(resolved.config), scratch.path());
  agree_on_setup(machines, setup, RANKWIRE_VERSION);
  help_with_ensemble(setup, machines, run_threads(setup.config.simulation), {interrupt_flag()});
}

int status_of(const Error& error) {
  return error.kind() == ErrorKind::kInput ? 2 : 1;
}

/// They had told all that was asked of them.
void tell_missed(const Machines& machines, std::span<const uint32_t> missed) {
  for (const uint32_t machine : missed)
    log_warning(
        fmt::format("machine '{}' has done its part, and may have died since then: nothing was heard of it "
                    "when all ended. The results stand",
                    machines.name(machine)));
}

/// What one machine cannot go on for is the end of the run on all, and the leader says it.
int run_on_machines(const RunRequest& request, RunKind kind, Machines& machines) {
  const bool is_new = !request.out.empty() && !std::filesystem::exists(request.out);
  int status = 0;
  try {
    if (!machines.leads()) {
      kind == RunKind::kEmulated ? run_part(request, machines) : help_simulation(request, kind, machines);
    } else {
      if (!request.live.empty()) fail_input("--live shows the run of one machine; this one is on several");
      status = run_and_report(request, resolve(request.config, request.settings, kind, &machines), &machines);
    }
  } catch (const std::exception& exception) {
    const auto* const own = dynamic_cast<const Error*>(&exception);
    const Error error = own != nullptr ? *own : Error(ErrorKind::kRun, exception.what());
    machines.fail(error);
    machines.leave({status_of(error), machines.leads() ? error.what() : "", &interrupt_flag()});
    if (machines.leads() && is_new) {  // the others' folders in it may have gone after it was to go
      std::error_code ignored;
      std::filesystem::remove(std::filesystem::path(request.out) / kPartsFolder, ignored);
      std::filesystem::remove(request.out, ignored);
    }
    if (machines.leads() || machines.is_gone(0)) throw;
    return status_of(error);
  }
  const std::vector<uint32_t> missed = machines.leave({status, "", &interrupt_flag()});
  if (status == 0) tell_missed(machines, missed);  // else it has been told why
  return status;
}

}  // namespace

RunKind simulation_kind(bool twin) {
  return twin ? RunKind::kTwin : RunKind::kModels;
}

int run_emulation(const RunRequest& request) {
  // Runs that follow each other in one process are not on several machines: ports that name one are refused.
  if (request.open == nullptr && is_launched()) {
    Machines machines(join_others(), request.machine);
    if (machines.count() > 1) return run_on_machines(request, RunKind::kEmulated, machines);
    machines.leave({.status = 1, .error = "MPI does not let a process go that is alone", .hurry = nullptr});
  }
  return run_alone(request);
}

int run_simulation(const RunRequest& request, bool twin) {
  if (request.together) {
    if (!has_machine_links()) fail_input("--together: this rankwire was built without MPI, by which processes meet");
    if (!is_launched())
      fail_input(
          "--together: no other process was started with this one: `mpirun -n 4 rankwire simulate ...`, or "
          "`srun --mpi=pmix -n 4`, without whose --mpi processes do not meet");
    std::unique_ptr<MachineLinks> links = join_others();
    // Of processes that only compute there may be several on a machine.
    const std::string system = links->system_name();
    const std::string name = fmt::format("{}-{}", system.substr(0, system.find('.')), links->own());
    Machines machines(std::move(links), name);
    return run_on_machines(request, simulation_kind(twin), machines);
  }
  return run_and_report(request, resolve(request.config, request.settings, simulation_kind(twin)));
}

int run_configuration(const RunRequest& request, RunConfig config, RunKind kind) {
  return run_and_report(request, resolve(std::move(config), kind));
}

int draw_replay(const std::filesystem::path& folder, std::optional<uint32_t> repetition,
                const std::filesystem::path& base) {
  RunReader reader(folder);
  if (repetition) reader.show(*repetition);
  const ReplayFigures figures = replay_figures(reader);
  if (figures.empty()) fail_input("{}: has no collective that has ended", folder.string());
  const ReplayFigures other = base.empty() ? ReplayFigures() : read_replay(base);
  if (log_verbosity() == Verbosity::kNormal) fmt::print("{}", printable(replay_text(figures, other)));
  std::fflush(stdout);
  write_file(folder / "replay.csv", replay_csv(figures, other));
  return 0;
}

int draw_page(const std::filesystem::path& folder, std::optional<uint32_t> repetition,
              const std::filesystem::path& file) {
  RunReader reader(folder);
  if (repetition) reader.show(*repetition);
  write_page(reader, file);
  return 0;
}

int draw_report(const ReportRequest& request) {
  const ReportFormats drawn = request.formats.empty() ? standard_formats() : parse_formats(request.formats);
  const std::filesystem::path folder = request.folder;
  Gating gating(request.gating);
  RunReader reader(folder);
  if (request.repetition) reader.show(*request.repetition);
  if (reader.at_work())
    log_warning(
        fmt::format("{}: a run is writing into this folder; this is what it has recorded so far", folder.string()));
  if (const std::string text = absence_text(Database(folder / "run.sqlite", Database::Access::kRead)); !text.empty())
    log_warning(fmt::format("{}: {}", folder.string(), text));
  // First, since it can be shown where no file can be written.
  if (gating.is_asked() || request.form == OutputForm::kJson) {
    nlohmann::ordered_json json = rankwire::summary(reader);
    if (gating.is_asked()) gating.judge(run_name(json), gate_figures(reader, json, gating.gates()));
    gating.add_to(json);
    if (request.form == OutputForm::kJson) fmt::print("{}\n", json.dump(2));
  }
  if (request.form == OutputForm::kTable) fmt::print("{}{}", printable(summary_table(reader)), gating.table());
  std::fflush(stdout);
  write_report(reader, drawn);
  return gating.is_asked() ? worse_status(exit_status(verdict_of(reader).verdict), gating.status()) : 0;
}

}  // namespace rankwire
