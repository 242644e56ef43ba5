#include "emulator/report/slack.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kListed = 16, kShownRanks = 8;

std::vector<SlackRow> least_first(std::vector<SlackRow> rows) {
  std::ranges::stable_sort(rows, {}, [](const SlackRow& row) { return std::pair(row.median, row.least); });
  return rows;
}

Json row_json(const SlackRow& row) {
  return {{"executions", row.executions}, {"least_ps", row.least.ps}, {"median_ps", row.median.ps}};
}

std::string operation_title(const NodeInfo& node) {
  if (node.group_size == 0) return node.name;
  return fmt::format("{} ({}{}{})", node.name, node.kind, node.group.empty() ? "" : " ", node.group);
}

}  // namespace

Json slack_json(const Diagnosis& diagnosis) {
  if (!diagnosis.slack) return nullptr;
  Json operations = Json::array(), ranks = Json::array();
  const auto& all = diagnosis.slack->operations;
  for (size_t i = 0; i < std::min(all.size(), kListed); ++i) {
    operations.push_back({{"name", all[i].node.name}, {"kind", all[i].node.kind}, {"group", all[i].node.group}});
    operations.back().update(row_json(all[i]));
  }
  const std::vector<SlackRow> of_ranks = least_first(diagnosis.slack->ranks);
  for (size_t i = 0; i < std::min(of_ranks.size(), kListed); ++i) {
    ranks.push_back({{"rank", of_ranks[i].node.rank.value}});
    ranks.back().update(row_json(of_ranks[i]));
  }
  return {{"operations", std::move(operations)}, {"ranks", std::move(ranks)}};
}

std::string slack_csv(const Diagnosis& diagnosis) {
  std::string csv = "of,job,rank,name,kind,group,executions,least_ps,median_ps\n";
  if (!diagnosis.slack) return csv;
  for (const SlackRow& row : diagnosis.slack->ranks)
    csv += fmt::format("rank,{},{},,,,{},{},{}\n", row.node.job.value, row.node.rank.value, row.executions,
                       row.least.ps, row.median.ps);
  for (const SlackRow& row : diagnosis.slack->operations)
    csv += fmt::format("operation,{},,{},{},{},{},{},{}\n", row.node.job.value, csv_field(row.node.name), row.node.kind,
                       csv_field(row.node.group), row.executions, row.least.ps, row.median.ps);
  return csv;
}

std::string html_slack(const RunReader& record, const Diagnosis& diagnosis) {
  if (!diagnosis.slack || diagnosis.slack->operations.empty()) return {};
  const auto add = [](HtmlTable& table, const std::string& name, const SlackRow& row) {
    table.add({name, row.executions, row.least, row.median});
  };
  HtmlTable operations("slack", {{"Operation", HtmlColumn::kText}, {"Executions"}, {"Least"}, {"Median"}});
  const auto& all = diagnosis.slack->operations;
  const size_t shown = std::min(all.size(), kListed);
  for (size_t i = 0; i < shown; ++i) add(operations, operation_title(all[i].node), all[i]);
  HtmlTable ranks("slack", {{"Rank", HtmlColumn::kText}, {"Executions"}, {"Least"}, {"Median"}});
  const std::vector<SlackRow> of_ranks = least_first(diagnosis.slack->ranks);
  const RankNames names(record);
  for (size_t i = 0; i < std::min(of_ranks.size(), kShownRanks); ++i)
    add(ranks, names.titled(of_ranks[i].node.rank.value), of_ranks[i]);
  return std::move(operations).finish() + html_shown_of(shown, all.size(), "slack.csv") + std::move(ranks).finish();
}

}  // namespace rankwire
