#include "emulator/report/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emulator/report/activity.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const RecordedRun& run) {
  return run.start.model.empty() ? to_string(run.start.fidelity) : run.start.model;
}

/// Without `kinds`.
ModelResult result_of(const RunReader& record, const RecordedRun& run) {
  ModelResult result{.name = name_of(run), .verdict = run.end.verdict, .reason = run.end.reason};
  result.completion = completion_of(record, &run);
  const RecordedRun* emulated = record.emulated();
  if (emulated != nullptr && emulated != &run && emulated->end.verdict == "ok" && run.end.verdict == "ok")
    result.ratio = ratio_of(emulated->end.completion, run.end.completion);
  return result;
}

std::map<std::string, ModelResult::Kind> read_kinds(const RunReader& record, const RecordedRun& run) {
  std::map<std::string, __int128> sums;
  std::map<std::string, ModelResult::Kind> kinds;
  record.for_each_interval(run, [&](RankId, std::string_view kind, OperationTimes times) {
    if (activity_of(kind) != Activity::kCommunication || kind == "receive") return;
    ++kinds[std::string(kind)].count;
    sums[std::string(kind)] += times.duration().ps;
  });
  for (auto& [name, kind] : kinds) kind.mean = Duration(static_cast<int64_t>(sums[name] / kind.count));
  return kinds;
}

}  // namespace

std::vector<ModelResult> read_models(const RunReader& record) {
  std::vector<const RecordedRun*> runs = record.models();
  const RecordedRun* emulated = record.emulated();
  if (emulated != nullptr && std::ranges::find(runs, emulated) == runs.end()) runs.insert(runs.begin(), emulated);
  std::vector<ModelResult> results;
  for (const RecordedRun* run : runs) {
    results.push_back(result_of(record, *run));
    results.back().kinds = read_kinds(record, *run);
  }
  return results;
}

Json models_json(const RunReader& record) {
  Json json = Json::array();
  for (const RecordedRun* run : record.models()) {
    const ModelResult model = result_of(record, *run);
    json.push_back({{"model", model.name},
                    {"verdict", model.verdict},
                    {"reason", model.reason},
                    {"completion_time_ps", model.completion ? Json(model.completion->ps) : Json()},
                    {"ratio", model.ratio ? Json(*model.ratio) : Json()}});
  }
  return json;
}

std::string models_text(const RunReader& record) {
  if (record.models().size() < 2) return {};
  const bool has_median =
      std::ranges::any_of(record.models(), [](const RecordedRun* run) { return run->start.model == kMedianOfFlow; });
  std::string text;
  for (const RecordedRun* run : record.models()) {
    const ModelResult model = result_of(record, *run);
    std::string name = model.name;
    if (has_median && (name == kFlowModel || name == kMedianOfFlow))
      name = name == kFlowModel ? "symmetric flow" : "median flow";
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        model.verdict == "ok" ? readable(*model.completion) : model.verdict);
    if (model.ratio) text += fmt::format(" (ratio {})", readable_ratio(model.ratio));
  }
  return text;
}

std::string html_models(const RunReader& record) {
  if (record.models().size() < 2) return {};
  const std::vector<ModelResult> models = read_models(record);
  std::set<std::string> kinds;
  for (const ModelResult& model : models) {
    for (const auto& [kind, mean] : model.kinds) kinds.insert(kind);
  }
  using HtmlColumn::kText;
  std::vector<HtmlTable::Heading> headings = {{"Run", kText}, {"Verdict", kText}, {"Completion"}, {"Emulated / model"}};
  for (const std::string& kind : kinds) headings.push_back({kind.c_str(), HtmlColumn::kNumber, "kind"});
  HtmlTable table("models", headings);
  for (const ModelResult& model : models) {
    std::vector<HtmlCell> cells = {model.name, model.verdict, model.completion, readable_ratio(model.ratio)};
    for (const std::string& kind : kinds) {
      const auto mean = model.kinds.find(kind);
      cells.emplace_back(mean == model.kinds.end() ? std::nullopt : std::optional(mean->second.mean));
    }
    table.add(cells);
  }
  return fmt::format(
             "<p class=\"note\">All other tables compare with {}. By kind of communication: the mean duration at a "
             "rank, waiting for others included.</p>\n",
             html_escaped(name_of(*record.reference()))) +
         std::move(table).finish();
}

}  // namespace rankwire
