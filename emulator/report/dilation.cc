#include "emulator/report/dilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

uint32_t configured_factor(const RunReader& record) {
  const Json config = Json::parse(record.config(), nullptr, false);
  if (!config.is_object() || !config.contains("dilation")) return 1;
  const Json& dilation = config["dilation"];
  return dilation.is_object() ? dilation.value("factor", 1u) : 1;
}

std::optional<Duration> completion(const RecordedRun* run) {
  if (run == nullptr || !run->ended || run->end.verdict != "ok") return std::nullopt;
  return run->end.completion;
}

/// Of the model by that name; the twin that stands for an emulated run has none.
const RecordedRun* find(const RunReader& record, const std::string& name) {
  for (const RecordedRun* run : record.models())
    if (run->start.model == name) return run;
  const RecordedRun* const emulated = record.emulated();
  const bool is_twin = emulated != nullptr && emulated->start.fidelity == Fidelity::kTwin;
  return name == "twin" && is_twin ? emulated : nullptr;
}

}  // namespace

double StretchedPrediction::difference() const {
  return static_cast<double>((stretched - on_wires).ps) / static_cast<double>(on_wires.ps);
}

std::optional<bool> Dilation::matters() const {
  if (predictions.empty()) return std::nullopt;
  return std::ranges::any_of(
      predictions, [](const StretchedPrediction& prediction) { return std::abs(prediction.difference()) > kMatters; });
}

std::optional<Dilation> read_dilation(const RunReader& record) {
  Dilation dilation{.factor = configured_factor(record), .predictions = {}};
  if (dilation.factor == 1) return std::nullopt;
  // What the single run says is no prediction where the member at the median takes its place.
  const bool has_median = completion(find(record, kStretchedMedianOfFlow)).has_value();
  for (const char* const model : {"flow", "twin"}) {
    const std::string of_run = has_median && model == std::string_view(kFlowModel) ? kMedianOfFlow : model;
    const auto on_wires = completion(find(record, of_run));
    const auto stretched = completion(find(record, of_run + ", stretched"));
    if (on_wires && stretched && on_wires->ps > 0) dilation.predictions.push_back({model, *on_wires, *stretched});
  }
  return dilation;
}

Json dilation_json(const RunReader& record) {
  const std::optional<Dilation> dilation = read_dilation(record);
  if (!dilation) return nullptr;
  Json predictions = Json::array();
  for (const StretchedPrediction& prediction : dilation->predictions)
    predictions.push_back({{"model", prediction.model},
                           {"on_wires_ps", prediction.on_wires.ps},
                           {"stretched_ps", prediction.stretched.ps},
                           {"difference", prediction.difference()}});
  const std::optional<bool> matters = dilation->matters();
  return {{"factor", dilation->factor},
          {"predictions", std::move(predictions)},
          {"matters", matters ? Json(*matters) : Json(nullptr)}};
}

std::string dilation_text(const RunReader& record) {
  const std::optional<Dilation> dilation = read_dilation(record);
  if (!dilation) return {};
  std::string text = fmt::format("a second of the job takes {} s; all times are the job's", dilation->factor);
  for (const StretchedPrediction& prediction : dilation->predictions)
    text += fmt::format("; on its own network it would take {} by {} instead of {} ({:+.2f} %)",
                        readable(prediction.stretched), prediction.model, readable(prediction.on_wires),
                        100 * prediction.difference());
  if (const auto matters = dilation->matters())
    text += *matters ? ": what the device cannot stretch matters" : ": what the device cannot stretch does not matter";
  return text;
}

}  // namespace rankwire
