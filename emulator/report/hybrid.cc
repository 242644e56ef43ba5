#include "emulator/report/hybrid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Duration> time_of_run(const RecordedRun* run) {
  if (run == nullptr || !run->ended || run->end.verdict != "ok") return std::nullopt;
  return run->end.completion;
}

/// Of the model by that name, which is not the run itself.
std::optional<Duration> time_of_model(const RunReader& record, const char* model) {
  for (const RecordedRun* run : record.models())
    if (run->start.model == model) return time_of_run(run);
  return std::nullopt;
}

Json time_or_null(std::optional<Duration> time) {
  return time ? Json(time->ps) : Json(nullptr);
}

Json share_or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::optional<double> Hybrid::beside_twin(std::optional<Duration> time) const {
  if (!time || !twin || twin->ps <= 0) return std::nullopt;
  return static_cast<double>((*time - *twin).ps) / static_cast<double>(twin->ps);
}

std::optional<Hybrid> read_hybrid(const RunReader& record) {
  const Json config = Json::parse(record.config(), nullptr, false);
  if (!config.is_object() || !config.contains("hybrid")) return std::nullopt;
  Hybrid hybrid;
  for (const Json& host : config["hybrid"]["wired"]) hybrid.hosts.push_back(host.get<uint32_t>());
  std::ranges::sort(hybrid.hosts);
  const RecordedRun* const run = record.emulated();
  // Without a run of its own the side is filled by a model, which has all on wires.
  if (run != nullptr && run->start.model.empty()) hybrid.run = time_of_run(run);
  hybrid.reference = time_of_model(record, "flow");
  hybrid.twin = time_of_model(record, "twin");
  return hybrid;
}

Json hybrid_json(const RunReader& record) {
  const std::optional<Hybrid> hybrid = read_hybrid(record);
  if (!hybrid) return nullptr;
  return {{"hosts", hybrid->hosts},
          {"completion_time_ps", time_or_null(hybrid->run)},
          {"twin_of_whole_ps", time_or_null(hybrid->twin)},
          {"error", share_or_null(hybrid->error())},
          {"reference_error", share_or_null(hybrid->reference_error())}};
}

std::string hybrid_text(const RunReader& record) {
  const std::optional<Hybrid> hybrid = read_hybrid(record);
  if (!hybrid) return {};
  std::string text = hybrid->hosts.empty()
                         ? std::string("nobody is on wires, all is modelled")
                         : fmt::format("the ranks of {} {} are on wires, all else is modelled",
                                       hybrid->hosts.size() == 1 ? "host" : "hosts", fmt::join(hybrid->hosts, ", "));
  if (!hybrid->twin) return text + "; `simulation.fidelity: [flow, twin]` would say what the whole job takes";
  text += fmt::format("; with everybody on wires the twin takes {}", readable(*hybrid->twin));
  if (const auto error = hybrid->error())
    text += fmt::format(", from which this run differs by {:+.2f} %", 100 * *error);
  if (const auto error = hybrid->reference_error())
    text += fmt::format(" and the reference by {:+.2f} %", 100 * *error);
  return text;
}

}  // namespace rankwire
