// `trace obfuscate`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <map>

#include "emulator/cli/progress.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/traces/obfuscate.h"

namespace rankwire {
namespace {

Coarseness coarseness_of(const std::string& name) {
  static const std::map<std::string, Coarseness> kNames = {{"keep", Coarseness::kKeep},
                                                           {"rounded", Coarseness::kRounded},
                                                           {"bucketed", Coarseness::kBucketed},
                                                           {"shifted", Coarseness::kShifted}};
  return kNames.at(name);
}

}  // namespace

int obfuscate_traces(const TraceObfuscateRequest& request) {
  const OutputFolder folder(request.out);
  const TraceFileSet files = find_one_set(request.inputs);
  const ObfuscateOptions options{.key = request.key,
                                 .sizes = coarseness_of(request.sizes),
                                 .times = coarseness_of(request.times),
                                 .allowed = {request.allowed.begin(), request.allowed.end()},
                                 .prefix = request.out,
                                 .mapping = request.mapping};
  std::atomic<uint64_t> done = 0;
  const ObfuscatedSet made = [&] {
    const Progress progress(
        "obfuscating traces", 2 * files.files.size(), [&done] { return done.load(); }, "files");
    return obfuscate(files, options, done);
  }();
  if (request.inputs.form == OutputForm::kJson) {
    print_json({{"ranks", files.files.size()},
                {"nodes", made.nodes},
                {"groups", made.groups},
                {"prefix", request.out},
                {"dropped", made.dropped},
                {"remaining", made.exposure.to_json()}});
    return 0;
  }
  fmt::print("{}",
             made_text(static_cast<uint32_t>(files.files.size()), made.nodes, request.out, !files.groups.empty()));
  std::vector<std::string> dropped;
  for (const auto& [name, count] : made.dropped) dropped.push_back(fmt::format("{} ({})", name, count));
  fmt::print("attributes left out: {}\n{}", dropped.empty() ? "none" : fmt::format("{}", fmt::join(dropped, ", ")),
             made.exposure.to_text());
  return 0;
}

}  // namespace rankwire
