// `run` and `simulate`: emulated, twin and reference runs into one record, and the report of it.
#include "emulator/assembly/run.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "base/log.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/record/reader.h"
#include "emulator/report/assessment.h"
#include "emulator/report/report.h"
#include "emulator/report/summary.h"

namespace rankwire {
namespace {

/// Signals end a run, and a terminal shows how far it is.
RunControl control() {
  return {interrupt_flag(),
          [](std::string label, uint64_t operations, std::function<uint64_t()> done) {
            return std::make_shared<Progress>(std::move(label), operations, std::move(done));
          },
          log_warning};
}

/// Draws the record, prints the summary, and turns the verdict into an exit status.
int finish(const std::filesystem::path& folder, const RunRequest& request, bool ok) {
  const OperationStatistics operations = write_report(folder);
  const RunReader reader(folder);
  const nlohmann::ordered_json summary = rankwire::summary(reader, operations);
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", summary.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}", summary_table(reader, operations));
  }
  std::fflush(stdout);
  const bool limited = request.strict && summary.at("fidelity") != "ok";
  if (!ok && log_verbosity() == Verbosity::kQuiet) log_error(verdict_text(reader));
  if (ok && limited) log_error("--strict: " + explain_fidelity(reader));
  return ok && !limited ? 0 : 1;
}

int run_and_report(const RunRequest& request, const ResolvedRun& resolved) {
  PreparedRun prepared(resolved,
                       {request.out, std::filesystem::path("runs") / resolved.config.name, request.overwrite});
  for (const std::string& warning : prepared.setup().warnings) log_warning(warning);
  const std::vector<CompletedRun> runs = prepared.run(control());
  return finish(prepared.folder(), request, all_ok(runs));
}

}  // namespace

RunKind simulation_kind(bool twin) {
  return twin ? RunKind::kTwin : RunKind::kModels;
}

int run_emulation(const RunRequest& request) {
  return run_and_report(request, resolve(request.config, request.settings, RunKind::kEmulated));
}

int run_simulation(const RunRequest& request, bool twin) {
  return run_and_report(request, resolve(request.config, request.settings, simulation_kind(twin)));
}

int run_simulation(const RunRequest& request, const RunConfig& config, bool twin) {
  return run_and_report(request, resolve(config, simulation_kind(twin)));
}

int draw_report(const std::filesystem::path& folder, const std::string& formats) {
  write_report(folder, formats.empty() ? standard_formats() : parse_formats(formats));
  return 0;
}

}  // namespace rankwire
