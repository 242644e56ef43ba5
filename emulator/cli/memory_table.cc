#include "emulator/cli/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/system_memory.h"
#include "emulator/assembly/memory_demand.h"

namespace rankwire {

nlohmann::ordered_json memory_json(Setup& setup, const nlohmann::ordered_json& machines) {
  const auto bytes_of = [](const nlohmann::ordered_json& machine) { return machine["memory_bytes"].get<int64_t>(); };
  const auto largest = std::ranges::max_element(machines, {}, bytes_of);
  if (largest != machines.end()) setup.machine = (*largest)["machine"].get<std::string>();
  const RunKind kind = setup.config.ports.empty() ? RunKind::kModels : RunKind::kEmulated;
  const MemoryDemand demand = memory_demand(setup, kind, resident_memory());
  const std::optional<Bytes> available = available_memory();
  if (const auto finding = memory_finding(demand, available))
    setup.warnings.push_back(setup.machine.empty()
                                 ? *finding
                                 : fmt::format("on machine '{}', were it this one, {}", setup.machine, *finding));
  nlohmann::ordered_json json = {{"machine", nullptr},
                                 {"setup_bytes", demand.setup.count},
                                 {"runs", nlohmann::ordered_json::array()},
                                 {"runs_at_peak", demand.peak().size()}};
  for (const RunMemory& run : demand.runs) {
    nlohmann::ordered_json& row = json["runs"].emplace_back();
    row["run"] = run.run;
    for (const MemoryPart& part : memory_parts()) row[fmt::format("{}_bytes", part.name)] = (run.*part.bytes).count;
    row["total_bytes"] = (demand.setup + run.total()).count;
  }
  if (!setup.machine.empty()) json["machine"] = std::exchange(setup.machine, "");
  json["total_bytes"] = demand.total().count;
  json["available_bytes"] = nullptr;
  if (available) json["available_bytes"] = (*available + demand.setup - demand.left_out).count;
  return json;
}

void print_memory(const nlohmann::ordered_json& memory) {
  const auto mebibytes = [](const nlohmann::ordered_json& bytes) { return bytes.get<double>() / (1 << 20); };
  const bool is_of_machine = !memory["machine"].is_null();
  fmt::print(
      "\nmemory{}, MiB:\n{:<12} {:>9}",
      is_of_machine ? fmt::format(" of machine '{}', none takes more", memory["machine"].get<std::string>()) : "",
      "run", "set-up");
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
  fmt::print("{}, so {:.0f} MiB {}; {:.0f} MiB are available{}\n",
             at_peak == 1 ? "one after the other" : fmt::format("up to {} at a time", at_peak),
             mebibytes(memory["total_bytes"]), is_of_machine ? "on a machine at most" : "in all",
             mebibytes(memory["available_bytes"]), is_of_machine ? " here" : "");
}

}  // namespace rankwire
