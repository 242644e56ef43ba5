#include "emulator/report/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "emulator/record/reference_band.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPrintedSavings = 4;

struct Saving {
  WhatIfRow row;
  Duration saved;  ///< of what `flow` takes; negative where it takes longer
};

/// What saves most first. Empty where `flow` has not ended well.
std::vector<Saving> savings(const RunReader& record) {
  std::vector<Saving> list;
  const RecordedRun* const run = run_of_flow(record);
  if (run == nullptr) return list;
  for (WhatIfRow& row : record.what_if()) {
    const Duration saved = run->end.completion - row.completion;
    list.push_back({std::move(row), saved});
  }
  std::ranges::stable_sort(list, std::greater(), &Saving::saved);
  return list;
}

std::string name_of(const WhatIfRow& row) {
  if (row.kind == "compute") return "computation";
  if (row.kind == "wires") return "all wires";
  if (row.kind == "local") return "local traffic";
  if (row.kind == "point_to_point") return "SEND and RECV";
  if (row.kind == "collisions") return "collisions of flows";
  if (row.kind == "failures") return "failures of cables";
  if (row.kind == "background") return "the background";
  return row.kind == "group" ? "groups " + row.name : "port " + row.name;
}

std::string change(Duration saved) {
  if (saved == Duration()) return "nothing";
  if (saved < Duration()) return "+" + readable(Duration() - saved);
  return "-" + readable(saved);
}

}  // namespace

nlohmann::ordered_json what_if_json(const RunReader& record) {
  const std::vector<Saving> list = savings(record);
  if (list.empty()) return nullptr;
  Json json = Json::array();
  for (const Saving& saving : list)
    json.push_back({{"free", saving.row.kind},
                    {"name", saving.row.name.empty() ? Json(nullptr) : Json(saving.row.name)},
                    {"completion_time_ps", saving.row.completion.ps},
                    {"saved_ps", saving.saved.ps}});
  return json;
}

std::string what_if_text(const RunReader& record) {
  const std::vector<Saving> list = savings(record);
  std::string text;
  size_t printed = 0;
  for (; printed < std::min(list.size(), kPrintedSavings) && list[printed].saved > Duration(); ++printed)
    text += fmt::format("{}{} {} ({})", printed == 0 ? "" : ", ", name_of(list[printed].row),
                        readable(list[printed].row.completion), change(list[printed].saved));
  if (printed > 0 && printed < list.size()) text += fmt::format(", and {} more in summary.json", list.size() - printed);
  return text;
}

std::string html_what_if(const RunReader& record) {
  const std::vector<Saving> list = savings(record);
  if (list.empty()) return {};
  HtmlTable table("what if", {{"If this took no time", HtmlColumn::kText}, {"the reference would take"}, {"Saved"}});
  const Duration most = list.front().saved;
  for (const Saving& saving : list)
    table.add({name_of(saving.row), saving.row.completion,
               HtmlCell::bar(change(saving.saved), std::max(0.0, ratio_of(saving.saved, most).value_or(0)))});
  return "<p class=\"note\">Runs of the model flow, each with one thing made free and all else as it is. What does not "
         "save time is not on the critical path, or hidden behind something that is.</p>\n" +
         std::move(table).finish();
}

}  // namespace rankwire
