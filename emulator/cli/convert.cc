#include "emulator/cli/convert.h"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "converters/pytorch.h"
#include "emulator/cli/progress.h"

namespace rankwire {
namespace {

using Convert = std::function<Conversion(const ConvertRequest&, std::atomic<uint64_t>& done)>;

void print(const Conversion& made, OutputForm form) {
  for (const std::string& warning : made.warnings) log_warning(warning);
  const NodeCounts& counts = made.counts;
  if (form == OutputForm::kJson) {
    const nlohmann::json json = {
        {"traces", made.prefix},
        {"groups", made.groups.empty() ? nlohmann::json(nullptr) : nlohmann::json(made.groups)},
        {"ranks", made.ranks},
        {"nodes", counts.nodes},
        {"collectives", counts.collectives},
        {"sends", counts.sends},
        {"receives", counts.receives},
        {"bytes", counts.bytes},
        {"warnings", made.warnings}};
    fmt::print("{}\n", json.dump(1));
    return;
  }
  fmt::print("{} ranks, {} nodes: {} collectives, {} sends, {} receives; {} bytes\n", made.ranks, counts.nodes,
             counts.collectives, counts.sends, counts.receives, counts.bytes);
  fmt::print("workload.traces: {}\n", made.prefix);
  if (!made.groups.empty()) fmt::print("workload.groups: {}\n", made.groups);
}

/// Adds one kind of input and what converts it; the caller adds its own options.
CLI::App& add_kind(CLI::App& convert, ConvertRequest& request, int& status, const char* kind, const char* what,
                   const char* inputs, const char* example, Convert conversion) {
  CLI::App& verb = *convert.add_subcommand(kind, what);
  verb.add_option("INPUT", request.inputs, inputs)->required();
  verb.add_option("--out", request.out, "folder for trace.<rank>.et; made if need be")->required();
  verb.add_flag_callback(
      "--json", [&request] { request.form = OutputForm::kJson; }, "print JSON");
  verb.footer(fmt::format("Example: rankwire convert {} {}", kind, example));
  verb.callback([&request, &status, conversion = std::move(conversion)] {
    std::atomic<uint64_t> done = 0;
    Conversion made;
    {
      const Progress progress(
          "convert", request.inputs.size(), [&done] { return done.load(); }, "files");
      made = conversion(request, done);
    }
    print(made, request.form);
    status = 0;
  });
  return verb;
}

}  // namespace

void add_convert_verb(CLI::App& app, ConvertRequest& request, int& status) {
  CLI::App& convert = *app.add_subcommand("convert", "make Chakra traces of other descriptions of a job");
  convert.require_subcommand(1);
  convert.footer("Example: rankwire convert pytorch host_*.json kineto_*.json --out traces/job");
  add_kind(convert, request, status, "pytorch",
           "host traces of PyTorch and traces of Kineto, one of both for each rank",
           "files, packed or not, in any order", "host_*.json kineto_*.json --out traces/job",
           [](const ConvertRequest& asked, std::atomic<uint64_t>& done) {
             return convert_pytorch(pair_pytorch_files(asked.inputs), asked.out, done);
           });
}

}  // namespace rankwire
