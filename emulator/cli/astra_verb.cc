#include "emulator/cli/astra_verb.h"

#include <filesystem>

namespace rankwire {
namespace {

std::string absolute_path(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

RunConfig astra_config(const AstraRequest& request) {
  RunConfig config;
  config.name = std::filesystem::path(request.workload).filename().string();
  config.file = request.workload;
  config.workload.traces = {absolute_path(request.workload)};
  config.workload.groups_file = "";
  // As there: whatever has this word in it is no file.
  if (request.groups.find("empty") == std::string::npos) config.workload.groups_file = absolute_path(request.groups);
  config.simulation.fidelity = {SimulationFidelity::kAstra};
  config.simulation.astra = {.network = absolute_path(request.network),
                             .system = absolute_path(request.system),
                             .memory = request.memory.empty() ? std::string() : absolute_path(request.memory),
                             .congestion_aware = request.congestion == "aware",
                             .queues = request.queues,
                             .rendezvous = request.rendezvous};
  return config;
}

void add_astra_verb(CLI::App& app, AstraRequest& request, int& status) {
  CLI::App& verb =
      *app.add_subcommand("astra", "what ASTRA-sim's analytical program would print, from its own options");
  verb.add_option("--workload-configuration", request.workload, "prefix P of traces P.<rank>.et")->required();
  verb.add_option("--system-configuration", request.system, "system JSON")->required();
  verb.add_option("--network-configuration", request.network, "network YAML")->required();
  verb.add_option("--remote-memory-configuration", request.memory, "memory JSON; default: no memory expansion");
  verb.add_option("--comm-group-configuration", request.groups, "process-group JSON")->capture_default_str();
  verb.add_option("--num-queues-per-dim", request.queues, "queues of a dimension")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb.add_option("--rendezvous-protocol", request.rendezvous, "true or false")->capture_default_str();
  verb.add_option("--congestion", request.congestion, "which of its two networks")
      ->check(CLI::IsMember({"unaware", "aware"}))
      ->capture_default_str();
  for (const char* option : {"--logging-configuration", "--logging-folder"})
    verb.add_option(option, request.logging, "not used");
  verb.add_option("--out", request.run.out, "run folder; default runs/NAME of the prefix, numbered if taken");
  verb.add_flag("--force", request.run.overwrite, "overwrite the run that the folder holds");
  verb.add_flag_callback(
      "--json", [&request] { request.run.form = OutputForm::kJson; }, "print the summary as JSON");
  verb.footer(
      "Example: rankwire astra --workload-configuration=traces/ar --system-configuration=system.json\n"
      "         --network-configuration=network.yml --congestion=aware");
  verb.callback(
      [&request, &status] { status = run_configuration(request.run, astra_config(request), RunKind::kModels); });
}

}  // namespace rankwire
