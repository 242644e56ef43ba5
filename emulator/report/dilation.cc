#include "emulator/report/dilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "emulator/record/reference_band.h"
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

/// By the medians of the ensembles, where both networks have one.
std::optional<StretchedPrediction> by_medians(const RunReader& record) {
  std::vector<Duration> on_wires = record.ensemble(), stretched = record.ensemble_stretched();
  if (on_wires.empty() || stretched.empty()) return std::nullopt;
  const ReferenceBand wires = band_of(std::move(on_wires)), own = band_of(std::move(stretched));
  return StretchedPrediction{.model = kFlowModel,
                             .on_wires = wires.median,
                             .stretched = own.median,
                             .runs_on_wires = wires.runs,
                             .runs_stretched = own.runs,
                             .bound = StretchedPrediction::Bound{own.low - wires.high, own.high - wires.low}};
}

std::optional<StretchedPrediction> by_single_runs(const RunReader& record, const char* model) {
  const auto on_wires = completion(find(record, model));
  const auto stretched = completion(find(record, std::string(model) + ", stretched"));
  if (!on_wires || !stretched) return std::nullopt;
  return StretchedPrediction{.model = model, .on_wires = *on_wires, .stretched = *stretched};
}

std::string text_of(const StretchedPrediction& prediction) {
  std::string text = fmt::format("; on its own network it would take {} by {} instead of {} ({:+.2f} %",
                                 readable(prediction.stretched), prediction.model, readable(prediction.on_wires),
                                 100 * prediction.difference());
  if (const auto& bound = prediction.bound)
    text += fmt::format(", {:+.2f} .. {:+.2f} %: medians of {} and {} runs", 100 * prediction.share(bound->least),
                        100 * prediction.share(bound->most), prediction.runs_stretched, prediction.runs_on_wires);
  return text + ")";
}

}  // namespace

const StretchedPrediction* Dilation::decisive() const {
  const auto twin = std::ranges::find(predictions, "twin", &StretchedPrediction::model);
  if (twin != predictions.end()) return &*twin;
  return predictions.empty() ? nullptr : &predictions.front();
}

std::optional<bool> Dilation::matters() const {
  const StretchedPrediction* const by = decisive();
  if (by == nullptr) return std::nullopt;
  return std::abs(by->difference()) > kMatters && by->is_resolved();
}

std::optional<Dilation> read_dilation(const RunReader& record) {
  Dilation dilation{.factor = configured_factor(record), .predictions = {}};
  if (dilation.factor == 1) return std::nullopt;
  std::optional<StretchedPrediction> flow = by_medians(record);
  if (!flow) flow = by_single_runs(record, kFlowModel);
  for (auto& prediction : {flow, by_single_runs(record, "twin")})
    if (prediction && prediction->on_wires.ps > 0) dilation.predictions.push_back(*prediction);
  return dilation;
}

Json dilation_json(const RunReader& record) {
  const std::optional<Dilation> dilation = read_dilation(record);
  if (!dilation) return nullptr;
  Json predictions = Json::array();
  for (const StretchedPrediction& prediction : dilation->predictions) {
    const auto& bound = prediction.bound;
    predictions.push_back({{"model", prediction.model},
                           {"on_wires_ps", prediction.on_wires.ps},
                           {"stretched_ps", prediction.stretched.ps},
                           {"difference", prediction.difference()},
                           {"difference_low", bound ? Json(prediction.share(bound->least)) : Json(nullptr)},
                           {"difference_high", bound ? Json(prediction.share(bound->most)) : Json(nullptr)},
                           {"runs_on_wires", prediction.runs_on_wires},
                           {"runs_stretched", prediction.runs_stretched}});
  }
  const StretchedPrediction* const by = dilation->decisive();
  const std::optional<bool> matters = dilation->matters();
  return {{"factor", dilation->factor},
          {"predictions", std::move(predictions)},
          {"decided_by", by != nullptr ? Json(by->model) : Json(nullptr)},
          {"matters", matters ? Json(*matters) : Json(nullptr)}};
}

std::string dilation_text(const RunReader& record) {
  const std::optional<Dilation> dilation = read_dilation(record);
  if (!dilation) return {};
  std::string text = fmt::format("a second of the job takes {} s; all times are the job's", dilation->factor);
  for (const StretchedPrediction& prediction : dilation->predictions) text += text_of(prediction);
  const StretchedPrediction* const by = dilation->decisive();
  if (by == nullptr) return text;
  text += *dilation->matters() ? ": what the device cannot stretch matters"
                               : ": what the device cannot stretch does not matter";
  text += by->model == "twin" ? ", by the twin" : ", by flow";
  if (!by->is_resolved()) text += ", within whose bands the difference is";
  return text;
}

}  // namespace rankwire
