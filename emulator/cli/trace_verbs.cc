#include "emulator/cli/trace_verbs.h"

#include <CLI/CLI.hpp>

namespace rankwire {

void TraceVerbs::add(CLI::App& trace, int& status) {
  add_check(trace, status);
}

void TraceVerbs::add_inputs(CLI::App& verb, TraceInputs& inputs) {
  verb.add_option("TRACE", inputs.paths, "files, folders, or prefixes P of P.<rank>.et")->required();
  verb.add_option("--groups", inputs.groups, "process-group JSON; default: PREFIX.json where it is one");
  verb.add_option("--element-size", inputs.element_size, "what sizes count, as workload.element_size")
      ->capture_default_str();
  verb.add_option("--ranks", inputs.ranks, "how many ranks the run had, where the traces do not say it")
      ->check(CLI::PositiveNumber);
  verb.add_flag_callback(
      "--json", [&inputs] { inputs.form = OutputForm::kJson; }, "print JSON");
}

void TraceVerbs::add_check(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("check", "find and explain what is wrong with traces");
  add_inputs(verb, check_.inputs);
  verb.add_flag("--notes", check_.notes, "list notes too");
  verb.add_option("--repair", check_.repair, "folder for a repaired copy and the list of its changes, repairs.json");
  verb.footer("Example: rankwire trace check traces/gpt --json");
  verb.callback([this, &status] { status = check_traces(check_); });
}

}  // namespace rankwire
