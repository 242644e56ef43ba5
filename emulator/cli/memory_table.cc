#include "emulator/cli/memory_table.h"

#include <fmt/format.h>

#include <optional>

#include "base/system_memory.h"
#include "emulator/assembly/machine_shares.h"

namespace rankwire {

nlohmann::ordered_json memory_json(Setup& setup) {
  const RunKind kind = setup.config.ports.empty() ? RunKind::kModels : RunKind::kEmulated;
  const MemoryDemand demand = memory_demand(setup, kind, resident_memory());
  const std::optional<Bytes> available = available_memory();
  // Of several machines no process has all of it.
  const auto finding = machines_of(setup.config).empty() ? memory_finding(demand, available) : std::nullopt;
  if (finding) setup.warnings.push_back(*finding);
  nlohmann::ordered_json json = {{"setup_bytes", demand.setup.count},
                                 {"runs", nlohmann::ordered_json::array()},
                                 {"runs_at_peak", demand.peak().size()}};
  for (const RunMemory& run : demand.runs) {
    nlohmann::ordered_json& row = json["runs"].emplace_back();
    row["run"] = run.run;
    for (const MemoryPart& part : memory_parts()) row[fmt::format("{}_bytes", part.name)] = (run.*part.bytes).count;
    row["total_bytes"] = (demand.setup + run.total()).count;
  }
  json["total_bytes"] = demand.total().count;
  json["available_bytes"] = nullptr;
  if (available) json["available_bytes"] = (*available + demand.setup - demand.left_out).count;
  return json;
}

void print_memory(const nlohmann::ordered_json& memory) {
  const auto mebibytes = [](const nlohmann::ordered_json& bytes) { return bytes.get<double>() / (1 << 20); };
  fmt::print("\nmemory, MiB:\n{:<12} {:>9}", "run", "set-up");
  for (const MemoryPart& part : memory_parts()) fmt::print(" {:>11}", part.name);
  fmt::print(" {:>9}\n", "total");
  for (const auto& run : memory["runs"]) {
    fmt::print("{:<12} {:>9.1f}", run["run"].get<std::string>(), mebibytes(memory["setup_bytes"]));
    for (const MemoryPart& part : memory_parts())
      fmt::print(" {:>11.1f}", mebibytes(run[fmt::format("{}_bytes", part.name)]));
    fmt::print(" {:>9.1f}\n", mebibytes(run["total_bytes"]));
  }
  if (memory["available_bytes"].is_null()) return;
  const auto at_peak = memory["runs_at_peak"].get<size_t>();
  fmt::print("{}, so {:.0f} MiB in all; {:.0f} MiB are available\n",
             at_peak == 1 ? "one after the other" : fmt::format("up to {} at a time", at_peak),
             mebibytes(memory["total_bytes"]), mebibytes(memory["available_bytes"]));
}

}  // namespace rankwire
