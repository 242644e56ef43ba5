// `trace scale`.
#include <fmt/format.h>

#include "emulator/cli/trace_inputs.h"
#include "emulator/traces/replicate.h"

namespace rankwire {

int scale_traces(const TraceScaleRequest& request) {
  const OutputFolder folder(request.out);
  const ReadSet read = read_one_set(request.inputs);
  uint64_t nodes = 0;
  for (const RankFacts& rank : read.set.ranks) nodes += rank.nodes.size();
  check_made_nodes("--replicate", nodes * request.replicas, request.force);
  const ReplicatedSet made =
      replicate(read.set, {.replicas = request.replicas, .across = request.across, .prefix = request.out});
  if (request.inputs.form == OutputForm::kJson) {
    print_json({{"ranks", made.ranks},
                {"nodes", made.nodes},
                {"groups", made.groups.size()},
                {"across", made.across},
                {"prefix", request.out}});
    return 0;
  }
  fmt::print("{}", made_text(made.ranks, made.nodes, request.out, !made.groups.empty()));
  for (const std::string& name : made.across) {
    fmt::print("{} has members of all replicas\n", name.empty() ? "the group of all ranks" : "group \"" + name + "\"");
  }
  return 0;
}

}  // namespace rankwire
