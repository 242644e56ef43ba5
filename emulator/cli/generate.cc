// `generate`: traces of a training step, from its description.
#include "emulator/assembly/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "emulator/cli/commands.h"
#include "emulator/input/validate_generate.h"

namespace rankwire {
namespace {

/// Makes the folder of the traces. Throws Error(kInput) where they cannot be: whoever named it is to name another.
void make_place(const std::string& prefix) {
  const std::filesystem::path path(prefix);
  if (!path.has_filename())
    fail_input("--out {}: this is a folder; what the traces' names begin with is missing, as in {}step", prefix,
               prefix);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error) fail_input("--out {}: no files can be made in {}: {}", prefix, folder.string(), error.message());
}

}  // namespace

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
  make_place(prefix);
  const GeneratedTraces made = generate(model, prefix);
  fmt::print("{} ranks, {} nodes: {}.<rank>.et and {}.json\n", made.ranks, made.nodes, prefix, prefix);
  return 0;
}

}  // namespace rankwire
