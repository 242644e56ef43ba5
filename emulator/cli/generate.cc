// `generate`: traces from a description, such as that of a training step, or of a small case that is ready.
#include "emulator/assembly/generate.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "converters/micro_cases.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/input/validate_generate.h"

namespace rankwire {
namespace {

constexpr const char* kMicro = "micro";

int list_micro_cases(OutputForm form) {
  if (form == OutputForm::kJson) {
    nlohmann::ordered_json cases = nlohmann::ordered_json::array();
    for (const MicroCase& micro : micro_cases()) cases.push_back({{"case", micro.name}, {"expected", micro.expected}});
    fmt::print("{}\n", cases.dump(2));
    return 0;
  }
  for (const MicroCase& micro : micro_cases()) fmt::print("{:<26} {}\n", micro.name, micro.expected);
  const MicroSizes sizes;
  fmt::print("\nn: {} ranks, S: {} B, D: {} us, T(x): the time of x alone; other sizes by a file with 'micro'\n",
             sizes.ranks, sizes.size.count, sizes.duration.ps / microseconds(1).ps);
  return 0;
}

/// Where its keys are written, is in `places`.
GenerateConfig described(const GenerateRequest& request, KeyPlaces& places) {
  if (request.specification != kMicro) {
    if (!request.micro_case.empty()) fail_input("CASE: is for `rankwire trace generate micro CASE`");
    return load_generated(request.specification, &places);
  }
  GenerateConfig model;
  model.kind = GeneratedKind::kMicro;
  model.micro_case = request.micro_case;
  if (find_micro_case(request.micro_case) == nullptr)
    fail_input("CASE: '{}' is no case; `rankwire trace generate micro --list` prints which there are",
               request.micro_case);
  return model;
}

}  // namespace

int generate_traces(const GenerateRequest& request) {
  if (request.list) {
    if (request.specification != kMicro) fail_input("--list: is for `rankwire trace generate micro --list`");
    return list_micro_cases(request.form);
  }
  const std::string& prefix = request.prefix;
  if (prefix.empty()) fail_input("--out is required: the prefix of the files");
  KeyPlaces places;
  const GenerateConfig model = described(request, places);
  const uint64_t ranks = generated_ranks(model);
  for (const char* suffix : {".et", ".et.gz"}) {
    // Whoever reads the prefix would take it for one more rank.
    const std::string next = fmt::format("{}.{}{}", prefix, ranks, suffix);
    if (std::filesystem::exists(next)) {
      fail_input("{} exists, but this set has {} ranks; remove the earlier set or choose another --out", next, ranks);
    }
  }
  const OutputFolder folder(prefix);
  NodeLimit limit(request.force ? UINT64_MAX : kMostGeneratedNodes, "--force writes them");
  const GeneratedTraces made = generate(model, {.places = places, .section = ""}, prefix, limit);
  fmt::print("{} ranks, {} nodes: {}.<rank>.et and {}.json\n", made.ranks, made.nodes, prefix, prefix);
  return 0;
}

}  // namespace rankwire
