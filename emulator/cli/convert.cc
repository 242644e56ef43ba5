#include "emulator/cli/convert.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/new_folder.h"
#include "converters/chakra_copy.h"
#include "converters/flexflow.h"
#include "converters/goal.h"
#include "converters/layers.h"
#include "converters/msccl.h"
#include "converters/nccl.h"
#include "converters/param_comms.h"
#include "converters/pytorch.h"
#include "converters/storage_nodes.h"
#include "emulator/assembly/goal_collectives.h"
#include "emulator/assembly/stored_traces.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/input/units.h"
#include "emulator/workload/process_groups.h"
#include "emulator/workload/trace_files.h"

namespace rankwire {
namespace {

using Convert = std::function<Conversion(ConversionProgress& progress)>;

/// What the prefix is called in the output.
const char* name_of(Conversion::Form form) {
  switch (form) {
    case Conversion::Form::kTraces:
      return "traces";
    case Conversion::Form::kAlgorithm:
      return "algorithm";
    case Conversion::Form::kSchedule:
      return "schedule";
  }
  return "unknown";
}

void print(const Conversion& made, OutputForm form) {
  for (const std::string& warning : made.warnings) log_warning(warning);
  const NodeCounts& counts = made.counts;
  if (form == OutputForm::kJson) {
    const nlohmann::json json = {
        {name_of(made.form), made.prefix},
        {"groups", made.groups.empty() ? nlohmann::json(nullptr) : nlohmann::json(made.groups)},
        {"ranks", made.ranks},
        {"nodes", counts.nodes},
        {"collectives", counts.collectives},
        {"sends", counts.sends},
        {"receives", counts.receives},
        {"bytes", counts.bytes},
        {"warnings", made.warnings},
        {"assumptions", made.assumptions}};
    fmt::print("{}\n", json.dump(1));
    return;
  }
  fmt::print("{} ranks, {} nodes: {} collectives, {} sends, {} receives; {} bytes\n", made.ranks, counts.nodes,
             counts.collectives, counts.sends, counts.receives, counts.bytes);
  fmt::print("{}{}: {}\n", made.form == Conversion::Form::kTraces ? "workload." : "", name_of(made.form), made.prefix);
  if (!made.groups.empty()) fmt::print("workload.groups: {}\n", made.groups);
  for (const std::string& assumption : made.assumptions) fmt::print("assumed: {}\n", assumption);
}

/// What a kind of input is called and how it is described.
struct Kind {
  const char* name;
  const char* what;
  const char* inputs;
  const char* example;
};

/// Adds one kind of input; the caller adds its own options.
CLI::App& add_kind(CLI::App& convert, ConvertRequest& request, int& status, const Kind& kind, Convert conversion) {
  CLI::App& verb = *convert.add_subcommand(kind.name, kind.what);
  verb.add_option("INPUT", request.inputs, kind.inputs)->required();
  verb.add_option("--out", request.out, "folder for what is made")->required();
  verb.add_flag_callback(
      "--json", [&request] { request.form = OutputForm::kJson; }, "print JSON");
  verb.add_flag("--strict", request.strict, "write nothing where there are warnings or assumptions");
  verb.footer(fmt::format("Example: rankwire convert {} {}", kind.name, kind.example));
  verb.callback([&request, &status, conversion = std::move(conversion)] {
    stop_files_on_signal();
    const NewFolder folder(request.out);  // goes again where everything in it is refused
    ConversionProgress progress;
    Conversion made;
    {
      const Progress shown(
          "convert", [&] { return progress.total.load(); }, [&] { return progress.done.load(); }, "ranks");
      made = conversion(progress);
    }
    if (request.strict) refuse_assumptions(made, request.out);
    print(made, request.form);
    status = 0;
  });
  return verb;
}

const std::string& only_input(const ConvertRequest& request) {
  if (request.inputs.size() > 1) fail_input("{}: this kind takes one INPUT", request.inputs[1]);
  return request.inputs.front();
}

void add_layers(CLI::App& convert, ConvertRequest& request, int& status, const Kind& kind) {
  CLI::App& verb = add_kind(convert, request, status, kind, [&request](ConversionProgress& progress) {
    return convert_layers(only_input(request), request.layers, request.out, progress);
  });
  verb.add_option("--ranks", request.layers.ranks, "how many there are; default: what the text says")
      ->check(CLI::Range(1, 1 << 17));
  verb.add_option("--model-parallel", request.layers.model_parallel,
                  "ranks that share a layer; default: what the text says")
      ->check(CLI::Range(1, 1 << 17));
  verb.add_option("--passes", request.layers.passes, "training steps")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb.add_flag("--micros", request.layers.micros, "times are microseconds, not nanoseconds");
}

/// Of kinds that record a job rank by rank.
void add_fill_options(CLI::App& verb, ConvertRequest& request) {
  verb.add_flag("--fill-missing", request.fill.fill_missing,
                "write ranks that were not recorded as copies of recorded ones that do the same");
  verb.add_flag("--force", request.fill.force, fmt::format("copies may take more than {} GiB", kMostCopied >> 30));
}

void add_to_goal(CLI::App& convert, ConvertRequest& request, int& status) {
  CLI::App& verb = add_kind(
      convert, request, status,
      {"to-goal", "Chakra traces to a schedule of LogGOPSim and ATLAHS, FOLDER/schedule.goal",
       "a prefix of traces, or the files by rank", "traces/job/trace --out goal"},
      [&request](ConversionProgress& progress) {
        const std::vector<std::string> traces = find_trace_files(request.inputs);
        const std::string groups = request.groups.empty() ? groups_beside(request.inputs) : request.groups;
        return convert_to_goal(traces, make_goal_collectives(traces, groups, log_warning), request.out, progress);
      });
  verb.add_option("--groups", request.groups,
                  "process groups, {\"name\": [ranks]}; default: INPUT.json if there is one");
}

Bytes stripe_of(const std::string& text) {
  Bytes stripe;
  try {
    stripe = Bytes(parse_quantity(text, kSizeScale));
  } catch (const ValueError& error) {
    fail_input("--stripe: {}", error.what());
  }
  if (stripe < Bytes(1 << 10) || stripe > Bytes(1LL << 40)) fail_input("--stripe: '{}' is not 1KiB .. 1TiB", text);
  return stripe;
}

std::vector<ProcessGroup> groups_of(const ConvertRequest& request) {
  return groups_in_file(request.groups.empty() ? groups_beside(request.inputs) : request.groups);
}

using CopyTraces = Conversion(const std::vector<std::string>& traces, const std::filesystem::path& folder,
                              ConversionProgress& progress);

/// With the groups that stand beside the traces.
void add_copy(CLI::App& convert, ConvertRequest& request, int& status, const Kind& kind, CopyTraces& copy) {
  CLI::App& verb = add_kind(convert, request, status, kind, [&request, &copy](ConversionProgress& progress) {
    const std::vector<ProcessGroup> groups = groups_of(request);
    Conversion made = copy(find_trace_files(request.inputs), request.out, progress);
    made.write_groups(groups);
    return made;
  });
  verb.add_option("--groups", request.groups,
                  "process groups, {\"name\": [ranks]}; default: INPUT.json if there is one");
}

void add_storage(CLI::App& convert, ConvertRequest& request, int& status) {
  StorageModel& storage = request.storage;
  CLI::App& verb =
      add_kind(convert, request, status,
               {"storage", "Chakra traces whose storage nodes (types 8 to 10) become messages to storage ranks",
                "a prefix of traces, or the files by rank", "traces/job/trace --storage-ranks 2 --out traces/stored"},
               [&request](ConversionProgress& progress) {
                 return put_storage_on_wire(find_trace_files(request.inputs), groups_of(request), request.storage,
                                            request.out, progress);
               });
  verb.add_option("--storage-ranks", storage.ranks, "how many stand behind the others")
      ->required()
      ->check(CLI::Range(1, 4'096));
  verb.add_flag_callback(
      "--hashed", [&storage] { storage.placement = StorageModel::Placement::kHashed; },
      "a hash chooses the storage rank of each access; else all share it in stripes");
  verb.add_option_function<std::string>(
      "--stripe", [&storage](const std::string& text) { storage.stripe = stripe_of(text); },
      "size of a stripe, 1KiB .. 1TiB; default: 1MiB");
  verb.add_option("--groups", request.groups,
                  "process groups, {\"name\": [ranks]}; default: INPUT.json if there is one");
}

}  // namespace

void add_convert_verb(CLI::App& app, ConvertRequest& request, int& status) {
  CLI::App& convert = *app.add_subcommand("convert", "make Chakra traces of other descriptions of a job");
  convert.require_subcommand(1);
  convert.footer("Example: rankwire convert pytorch host_*.json kineto_*.json --out traces/job");
  CLI::App& pytorch = add_kind(convert, request, status,
                               {"pytorch", "host traces of PyTorch and traces of Kineto, one of both for each rank",
                                "files, packed or not, in any order", "host_*.json kineto_*.json --out traces/job"},
                               [&request](ConversionProgress& progress) {
                                 return convert_pytorch(pair_pytorch_files(request.inputs), request.out, progress,
                                                        {.fill = request.fill, .start_times = request.start_times});
                               });
  add_fill_options(pytorch, request);
  pytorch.add_flag("--start-times", request.start_times,
                   "nodes say when they began, for `trace inspect` of what was recorded; more nodes of the host");
  CLI::App& nccl = add_kind(convert, request, status,
                            {"nccl", "logs of NCCL or RCCL (NCCL_DEBUG=INFO), or records of NCCL's inspector",
                             "files, packed or not, of a rank or of many each", "nccl.*.log --out traces/job"},
                            [&request](ConversionProgress& progress) {
                              return convert_nccl(request.inputs, request.out, progress, request.fill);
                            });
  add_fill_options(nccl, request);
  add_layers(convert, request, status,
             {"astra-sim", "a text workload of ASTRA-sim 1", "the text",
              "Resnet50_DataParallel.txt --ranks 16 --out traces/resnet"});
  add_layers(convert, request, status,
             {"simai", "a text workload of SimAI, as AICB makes them", "the text",
              "gpt_13b.txt --ranks 64 --out traces/gpt13b"});
  add_kind(
      convert, request, status,
      {"param", "communication traces of PARAM's replay (basic format)", "a JSON list for each rank",
       "comms/*.json --out traces/comms"},
      [&request](ConversionProgress& progress) { return convert_param_comms(request.inputs, request.out, progress); });
  add_kind(
      convert, request, status,
      {"goal", "a schedule of LogGOPSim or ATLAHS, in text or binary", "the schedule",
       "schedule.goal --out traces/goal"},
      [&request](ConversionProgress& progress) { return convert_goal(only_input(request), request.out, progress); });
  add_kind(convert, request, status,
           {"flexflow", "a task graph of FlexFlow, in dot", "the graph", "taskgraph.dot --out traces/flexflow"},
           [&request](ConversionProgress& progress) {
             return convert_flexflow(only_input(request), request.out, progress);
           });
  add_kind(
      convert, request, status,
      {"msccl", "an algorithm of MSCCL, in XML: one file a rank, of one collective", "the algorithm",
       "allreduce_ring.xml --out algorithms/ring"},
      [&request](ConversionProgress& progress) { return convert_msccl(only_input(request), request.out, progress); });
  add_to_goal(convert, request, status);
  add_storage(convert, request, status);
  add_copy(convert, request, status,
           {"chakra", "Chakra traces of any schema, or in JSON, to schema 1.0.0",
            "a prefix of traces, or the files by rank", "old/resnet50 --out traces/resnet50"},
           upgrade_traces);
  add_copy(convert, request, status,
           {"to-json", "Chakra traces to JSON, FOLDER/trace.<rank>.json", "a prefix of traces, or the files by rank",
            "traces/job/trace --out json"},
           convert_to_json);
}

}  // namespace rankwire
