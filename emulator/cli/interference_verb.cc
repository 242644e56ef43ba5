#include "emulator/cli/interference_verb.h"

namespace rankwire {

void add_interference_verb(CLI::App& app, InterferenceRequest& interference, bool& quiet, int& status) {
  CLI::App& verb =
      *app.add_subcommand("interference", "how much each of several jobs holds each other up, as a matrix");
  verb.add_option("CONFIG", interference.run.config, "configuration with two 'jobs' or more (docs/jobs.md)")
      ->required();
  CLI::Option* pairs = verb.add_flag_callback(
      "--pairs", [&] { interference.pairs = true; }, "each job alone, each two, and all together; the default");
  verb.add_flag_callback(
          "--all", [&] { interference.pairs = false; }, "each job alone and all together, but no pairs")
      ->excludes(pairs);
  CLI::Option* packets = verb.add_flag_callback(
      "--twin", [&] { interference.kind = RunKind::kTwin; },
      "packet by packet in virtual time instead of emulated; no device is touched");
  verb.add_flag_callback(
          "--reference", [&] { interference.kind = RunKind::kModels; }, "the reference alone; no device is touched")
      ->excludes(packets);
  verb.add_option("--out", interference.run.out,
                  "folder of the matrix and run folders; default runs/NAME-interference, numbered if taken");
  verb.add_flag("--force", interference.run.overwrite, "overwrite what the folder holds of an earlier matrix");
  verb.add_option("--set", interference.run.settings, "key=value, overrides a key of the configuration; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--processes", interference.processes,
                  "with --twin or --reference: processes at a time; default: one a core")
      ->check(CLI::Range(1, 1024));
  verb.add_flag_callback(
      "--json", [&] { interference.run.form = OutputForm::kJson; }, "print JSON");
  verb.add_flag("--quiet", quiet, "print errors only");
  verb.footer(
      "Example: rankwire interference configs/jobs.yaml --twin --out runs/matrix\n"
      "Prints how many times its completion time alone each job (rows) takes beside each other (columns).");
  verb.callback([&] { status = run_interference(interference); });
}

}  // namespace rankwire
