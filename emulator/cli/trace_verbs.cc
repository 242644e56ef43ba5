#include "emulator/cli/trace_verbs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "emulator/assembly/generate.h"

namespace rankwire {
namespace {

std::string force_help() {
  return fmt::format("also more than {} million nodes", kMostGeneratedNodes / 1'000'000);
}

}  // namespace

void TraceVerbs::add(CLI::App& trace, int& status) {
  add_check(trace, status);
  add_inspect(trace, status);
  add_scale(trace, status);
  add_select(trace, status);
  add_obfuscate(trace, status);
  add_shrink(trace, status);
  add_synthesize(trace, status);
  add_choose(trace, status);
  add_draw(trace, status);
}

void TraceVerbs::add_inputs(CLI::App& verb, TraceInputs& inputs) {
  verb.add_option("TRACE", inputs.paths, "files, folders, or prefixes P of P.<rank>.et")->required();
  add_reading(verb, inputs);
  verb.add_option("--ranks", inputs.ranks, "how many ranks the run had, where the traces do not say it")
      ->check(CLI::Range(1, 1 << 20));
}

void TraceVerbs::add_reading(CLI::App& verb, TraceInputs& inputs) {
  verb.add_option("--groups", inputs.groups, "process-group JSON; default: PREFIX.json where it is one");
  verb.add_option("--element-size", inputs.element_size, "what sizes count, as workload.element_size")
      ->capture_default_str();
  verb.add_flag_callback(
      "--json", [&inputs] { inputs.form = OutputForm::kJson; }, "print JSON");
}

void TraceVerbs::add_times(CLI::App& verb, TraceTimes& times) {
  verb.add_option("--rate", times.rate, "of communication without a recorded duration")->capture_default_str();
  verb.add_option("--peak", times.peak, "of compute without a recorded duration")->capture_default_str();
}

void TraceVerbs::add_inspect(CLI::App& trace, int& status) {
  CLI::App& verb =
      *trace.add_subcommand("inspect", "what traces hold: sizes, times, idle time, stragglers, critical path, memory");
  add_inputs(verb, inspect_.inputs);
  add_times(verb, inspect_.times);
  verb.add_option("--pictures", inspect_.pictures, "folder for NAME.traffic.svg and NAME.memory.svg");
  verb.add_option("--html", inspect_.html, "file for a page of one set: tables and pictures, opens offline");
  verb.add_option("--against", inspect_.against,
                  "another set, to which differences are told; repeatable, for its files")
      ->allow_extra_args(false);
  verb.add_flag("--by-rank", inspect_.by_rank,
                "look at one rank after another, in little memory; of itself with more than 256 MiB of files");
  verb.footer("Example: rankwire trace inspect traces/gpt --against traces/before --html gpt.html");
  verb.callback([this, &status] { status = inspect_traces(inspect_); });
}

void TraceVerbs::add_scale(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("scale", "make the traces of a larger run from those of a smaller one");
  add_inputs(verb, scale_.inputs);
  verb.add_option("--replicate", scale_.replicas, "number of data-parallel replicas")
      ->required()
      ->check(CLI::Range(1, 65536));
  verb.add_option("--across", scale_.across, "group that gets the members of all replicas; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--out", scale_.out, "prefix of the copies: PREFIX.<rank>.et and PREFIX.json")->required();
  verb.add_flag("--force", scale_.force, force_help());
  verb.footer("Example: rankwire trace scale traces/resnet --replicate 8 --out traces/resnet8");
  verb.callback([this, &status] { status = scale_traces(scale_); });
}

void TraceVerbs::add_select(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("select", "make traces of a part of others");
  add_inputs(verb, select_.inputs);
  add_times(verb, select_.times);
  verb.add_option("--only-ranks", select_.ranks, "such as 0-3,7");
  verb.add_option("--only-ids", select_.ids, "of nodes, such as 0-999");
  verb.add_option("--only-kinds", select_.kinds, "such as compute,all_reduce")->delimiter(',')->allow_extra_args(false);
  verb.add_option("--only-names", select_.names, "shell pattern of names; repeatable")->allow_extra_args(false);
  verb.add_option("--window", select_.window, "nodes at work in it, such as 1ms-2.5ms");
  verb.add_option("--out", select_.out, "prefix of the copies: PREFIX.<rank>.et and PREFIX.json")->required();
  verb.footer("Example: rankwire trace select traces/gpt --only-ranks 0-3 --window 0ms-10ms --out traces/part");
  verb.callback([this, &status] { status = select_traces(select_); });
}

void TraceVerbs::add_obfuscate(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("obfuscate", "copy traces without names, and say what they still tell");
  add_inputs(verb, obfuscate_.inputs);
  verb.add_option("--key", obfuscate_.key,
                  "of pseudonyms and the secret factor; with the same key a copy is the same again; default: a random "
                  "one, which is not kept")
      ->check([](const std::string& key) {
        return key.empty() ? std::string("is empty: give a key, or leave the option out for a random one") : "";
      });
  verb.add_option("--sizes", obfuscate_.sizes,
                  "of messages and tensors, and num_ops: keep, rounded to two digits, bucketed to four values, or "
                  "shifted by a secret factor")
      ->capture_default_str()
      ->check(CLI::IsMember({"keep", "rounded", "bucketed", "shifted"}));
  verb.add_option("--times", obfuscate_.times,
                  "keep, or durations alone, rounded to two digits or bucketed to powers of four")
      ->capture_default_str()
      ->check(CLI::IsMember({"keep", "rounded", "bucketed"}));
  verb.add_option("--allow", obfuscate_.allowed, "attribute that comes along as it is; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--mapping", obfuscate_.mapping, "file for what stands for what, readable by its owner alone");
  verb.add_option("--out", obfuscate_.out, "prefix of the copies: PREFIX.<rank>.et and PREFIX.json")->required();
  verb.footer("Example: rankwire trace obfuscate traces/gpt --sizes rounded --out share/job");
  verb.callback([this, &status] { status = obfuscate_traces(obfuscate_); });
}

void TraceVerbs::add_shrink(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("shrink", "the smallest part of traces that still shows a failure or a gap");
  add_inputs(verb, shrink_.inputs);
  verb.add_option("--keep", shrink_.keep,
                  "command that ends with --status while it is shown, run without a shell; {} becomes the candidate's "
                  "configuration, without --config the prefix of its traces, {folder} a folder for what it leaves")
      ->required();
  verb.add_option("--config", shrink_.config, "configuration whose traces these are, to be shrunk, too");
  verb.add_option("--status", shrink_.status, "exit status of the command that shows it")
      ->capture_default_str()
      ->check(CLI::Range(0, 255));
  verb.add_option("--tries", shrink_.tries, "how often the command is run at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--time", shrink_.time, "after which the best so far is the result")->capture_default_str();
  verb.add_option("--patience", shrink_.patience, "after which a command is killed and shows nothing")
      ->capture_default_str();
  verb.add_option("--bundle", shrink_.bundle, "archive FILE.tar.zst of the result, for whoever is to look at it");
  verb.add_option("--out", shrink_.out,
                  "prefix of the result: PREFIX.<rank>.et, PREFIX.json, PREFIX.yaml, PREFIX.tries.csv")
      ->required();
  verb.footer(
      "Example: rankwire trace shrink traces/gpt --keep \"sh -c 'rankwire trace check {} --json | grep -q cycle'\" "
      "--out traces/small");
  verb.callback([this, &status] { status = shrink_traces(shrink_); });
}

void TraceVerbs::add_synthesize(CLI::App& trace, int& status) {
  CLI::App& verb =
      *trace.add_subcommand("synthesize", "learn a model of traces, and make traces of as many or other ranks");
  verb.add_option("TRACE", synthesize_.inputs.paths, "sets to learn from; without any, --model is read");
  add_reading(verb, synthesize_.inputs);
  add_times(verb, synthesize_.times);
  verb.add_option("--model", synthesize_.model, "file of the model, JSON: written with TRACE, else read");
  verb.add_option("--out", synthesize_.out, "prefix of the traces: PREFIX.<rank>.et and PREFIX.json");
  verb.add_option("--ranks", synthesize_.ranks, "how many; a multiple or a whole part of the model's; default: as many")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--role", synthesize_.role, "number of the role whose groups grow or shrink; default: the widest");
  verb.add_option("--scale-model", synthesize_.scale_model,
                  "with other ranks: each does as much as before (weak), or all together do (strong)")
      ->check(CLI::IsMember({"weak", "strong"}))
      ->capture_default_str();
  verb.add_option("--family", synthesize_.family, "structure, where sets have several")->capture_default_str();
  verb.add_option("--seed", synthesize_.seed, "of durations")->check(CLI::NonNegativeNumber)->capture_default_str();
  verb.add_flag("--force", synthesize_.force, force_help());
  verb.add_option("--against", synthesize_.against, "sets to compare the result with; repeatable; default: TRACE")
      ->allow_extra_args(false);
  verb.footer("Example: rankwire trace synthesize traces/gpt --model gpt.json --ranks 64 --out traces/gpt64");
  verb.callback([this, &status] { status = synthesize_traces(synthesize_); });
}

void TraceVerbs::add_choose(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("choose", "a few of many sets that stand for all of them, with their weights");
  add_inputs(verb, choose_.inputs);
  add_times(verb, choose_.times);
  CLI::Option* const count =
      verb.add_option("--count", choose_.count, "how many are chosen")->check(CLI::Range(1, 4096));
  verb.add_option("--coverage", choose_.coverage, "as few as have this coverage, such as 90%")->excludes(count);
  verb.footer("Example: rankwire trace choose traces/2024 traces/2025 --count 5");
  verb.callback([this, &status] { status = choose_traces(choose_); });
}

void TraceVerbs::add_draw(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("draw", "the graph of a rank, and all ranks over time");
  add_inputs(verb, draw_.inputs);
  add_times(verb, draw_.times);
  verb.add_option("--rank", draw_.rank, "whose graph")->capture_default_str();
  verb.add_option("--most", draw_.most, "vertices; what are more is collapsed by name")
      ->capture_default_str()
      ->check(CLI::Range(2, 5000));
  verb.add_option("--format", draw_.formats, "of the graph besides dot, by the program dot: svg, pdf")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"svg", "pdf"}));
  verb.add_option("--out", draw_.out, "prefix: PREFIX.dot, PREFIX.svg, PREFIX.pdf, PREFIX.timeline.svg")->required();
  verb.footer("Example: rankwire trace draw traces/gpt --rank 3 --format svg --out pictures/gpt");
  verb.callback([this, &status] { status = draw_traces(draw_); });
}

void TraceVerbs::add_check(CLI::App& trace, int& status) {
  CLI::App& verb = *trace.add_subcommand("check", "find and explain what is wrong with traces");
  add_inputs(verb, check_.inputs);
  verb.add_flag("--notes", check_.notes, "list notes too");
  CLI::Option* repair = verb.add_option("--repair", check_.repair,
                                        "folder for a repaired copy and the list of its changes, repairs.json");
  verb.add_option(
          "--unmatched", check_.unmatched,
          "in the copy, SEND and RECV without counterpart: drop the operations, or complete them with the other "
          "end; default: they stay")
      ->check(CLI::IsMember({"drop", "complete"}))
      ->needs(repair);
  verb.add_option(
          "--absurd", check_.absurd,
          "in the copy, operations of absurd sizes, at all members of a collective, and absurd durations: drop; "
          "default: they stay")
      ->check(CLI::IsMember({"drop"}))
      ->needs(repair);
  verb.footer("Example: rankwire trace check traces/gpt --json");
  verb.callback([this, &status] { status = check_traces(check_); });
}

}  // namespace rankwire
