#include "emulator/cli/trace_inputs.h"

#include <fmt/format.h>

#include <atomic>

#include "emulator/cli/progress.h"
#include "emulator/input/units.h"

namespace rankwire {

CheckOptions check_options(const TraceInputs& inputs) {
  constexpr int64_t kLargest = 64;  // as workload.element_size
  CheckOptions options;
  try {
    options.element_size = Bytes(parse_quantity(inputs.element_size, kSizeScale));
  } catch (const ValueError& error) {
    fail_input("--element-size {}: {}", inputs.element_size, error.what());
  }
  if (options.element_size < Bytes(1) || options.element_size > Bytes(kLargest)) {
    fail_input("--element-size {}: elements have 1 to {} bytes", inputs.element_size, kLargest);
  }
  options.ranks = inputs.ranks;
  return options;
}

std::vector<CheckedSet> read_and_check(const TraceInputs& inputs) {
  const CheckOptions options = check_options(inputs);
  const std::vector<TraceFileSet> found = find_trace_sets(inputs.paths, inputs.groups);
  uint64_t files = 0;
  for (const TraceFileSet& set : found) files += set.files.size();
  std::atomic<uint64_t> done = 0;
  const Progress progress(
      "reading traces", files, [&done] { return done.load(); }, "files");
  std::vector<CheckedSet> sets;
  sets.reserve(found.size());
  for (const TraceFileSet& set : found) sets.push_back(check_set(set, options, done));
  return sets;
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace rankwire
