// `trace check`.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/printable.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/traces/repair.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

/// Error(kInput) unless the folder is new or empty.
void check_is_new(const fs::path& folder) {
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder))) {
    fail_input("--repair {}: exists already; name a folder that is new or empty", folder.string());
  }
}

int repair_traces(const TraceCheckRequest& request, const std::vector<CheckedSet>& sets) {
  stop_files_on_signal();
  const fs::path folder = request.repair;
  const CheckOptions options = check_options(request.inputs);
  uint64_t nodes = 0;
  for (const CheckedSet& checked : sets) nodes += checked.nodes();
  if (nodes == 0) fail_input("--repair: no node of any file can be read, see without --repair");
  using Unmatched = RepairOptions::Unmatched;
  const RepairOptions further{.unmatched = request.unmatched == "drop"       ? Unmatched::kDrop
                                           : request.unmatched == "complete" ? Unmatched::kComplete
                                                                             : Unmatched::kKeep,
                              .drop_absurd = request.absurd == "drop"};
  std::vector<RepairChange> changes;
  for (const CheckedSet& checked : sets) {
    for (RepairChange& change : repair_set(checked, options, folder, further)) changes.push_back(std::move(change));
  }
  const nlohmann::ordered_json list = to_json(changes);
  std::ofstream file(folder / "repairs.json");
  file << list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) fail_run("{}: cannot be written", (folder / "repairs.json").string());

  TraceInputs copy;
  copy.paths = {folder.string()};
  copy.ranks = request.inputs.ranks;
  const std::vector<CheckedSet> repaired = read_and_check(copy);
  if (request.inputs.form == OutputForm::kJson) {
    print_json({{"original", to_json(sets)}, {"changes", list}, {"copy", to_json(repaired)}});
  } else {
    fmt::print("{}", printable(fmt::format("{}{}{}: {}", to_text(sets, request.notes), to_text(changes),
                                           folder.string(), to_text(repaired, request.notes))));
  }
  return count(repaired, Severity::kError) == 0 ? 0 : 1;
}

}  // namespace

int check_traces(const TraceCheckRequest& request) {
  if (!request.repair.empty()) check_is_new(request.repair);
  const std::vector<CheckedSet> sets = read_and_check(request.inputs);
  if (!request.repair.empty()) return repair_traces(request, sets);
  if (request.inputs.form == OutputForm::kJson) {
    print_json(to_json(sets));
  } else {
    fmt::print("{}", printable(to_text(sets, request.notes)));
  }
  return count(sets, Severity::kError) == 0 ? 0 : 1;
}

}  // namespace rankwire
