// `generate`: traces of a training step, from its description.
#include "emulator/assembly/generate.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "emulator/cli/commands.h"
#include "emulator/input/validate_generate.h"

namespace rankwire {

int generate_traces(const std::string& specification, const std::string& prefix) {
  const GenerateConfig model = load_generated(specification);
  const uint64_t ranks = generated_ranks(model);
  for (const char* suffix : {".et", ".et.gz"}) {
    // Whoever reads the prefix would take it for one more rank.
    const std::string next = fmt::format("{}.{}{}", prefix, ranks, suffix);
    if (std::filesystem::exists(next)) {
      fail_input("{} exists, but this set has {} ranks; remove the earlier set or choose another --out", next, ranks);
    }
  }
  std::error_code error;
  if (const std::filesystem::path folder = std::filesystem::path(prefix).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, error);
  if (error) fail_run("--out {}: its folder cannot be made: {}", prefix, error.message());
  const GeneratedTraces made = generate(model, prefix);
  fmt::print("{} ranks, {} nodes: {}.<rank>.et and {}.json\n", made.ranks, made.nodes, prefix, prefix);
  return 0;
}

}  // namespace rankwire
