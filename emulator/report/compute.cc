#include "emulator/report/compute.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/longest_time.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPrintedStragglers = 8, kShownStragglers = 50;

/// All ranks of a run together.
struct RunTimes {
  std::vector<ComputeTimeRow> models;  ///< the most time first; ranks are invalid
  std::map<RankId, ComputeVariationRow> ranks;
  ComputeVariationRow all;
  std::vector<StragglerRow> stragglers;

  RunTimes(const RunReader& record, const RecordedRun& run) : stragglers(record.stragglers(run)) {
    for (const ComputeTimeRow& row : record.compute_times(run)) {
      const auto known = std::ranges::find(models, row.model, &ComputeTimeRow::model);
      ComputeTimeRow& sum = known != models.end() ? *known : models.emplace_back(ComputeTimeRow{.model = row.model});
      sum.nodes += row.nodes, sum.time = bounded_sum(sum.time, row.time);
    }
    std::ranges::stable_sort(models, std::greater<>(), &ComputeTimeRow::time);
    for (const ComputeVariationRow& row : record.compute_variation(run)) {
      ranks[row.rank] = row;
      all.jitter = bounded_sum(all.jitter, row.jitter);
      all.noise = bounded_sum(all.noise, row.noise);
      all.slowed = bounded_sum(all.slowed, row.slowed);
    }
  }
};

std::string factor_text(uint64_t factor_ppm) {
  return fmt::format("{:g}", static_cast<double>(factor_ppm) / 1e6);
}

/// "rank 3 is slowed by 1.5 from 2 ms to 5 ms".
std::string straggler_text(const StragglerRow& row, const RankNames& names) {
  const std::string what = row.factor_ppm ? fmt::format("is slowed by {}", factor_text(*row.factor_ppm)) : "pauses";
  const std::string end = row.until ? fmt::format(" to {}", readable(*row.until - Time())) : " on";
  return fmt::format("{} {} from {}{}", names.titled(row.rank.value), what, readable(row.from - Time()), end);
}

std::string with_sign(Duration duration) {
  const bool less = duration < Duration(0);
  return fmt::format("{}{}", less ? '-' : '+', readable(less ? Duration() - duration : duration));
}

Json side_json(const RunReader& record, const RecordedRun* run) {
  if (run == nullptr || !run->ended) return nullptr;
  const RunTimes times(record, *run);
  const RankNames names(record);
  Json models = Json::array(), stragglers = Json::array();
  for (const ComputeTimeRow& row : times.models)
    models.push_back({{"model", row.model}, {"nodes", row.nodes}, {"time_ps", row.time.ps}});
  for (const StragglerRow& row : times.stragglers) {
    const auto of_rank = times.ranks.find(row.rank);
    stragglers.push_back({{"rank", row.rank.value},
                          {"from_ps", row.from.ps},
                          {"until_ps", row.until ? Json(row.until->ps) : Json(nullptr)},
                          {"factor_ppm", row.factor_ppm ? Json(*row.factor_ppm) : Json(nullptr)},
                          {"rank_slowed_ps", of_rank == times.ranks.end() ? 0 : of_rank->second.slowed.ps},
                          {"text", straggler_text(row, names)}});
  }
  return {{"models", models},
          {"jitter_ps", times.all.jitter.ps},
          {"noise_ps", times.all.noise.ps},
          {"slowed_ps", times.all.slowed.ps},
          {"stragglers", stragglers}};
}

Duration slowed_of(const RunTimes& times, RankId rank) {
  const auto of_rank = times.ranks.find(rank);
  return of_rank == times.ranks.end() ? Duration() : of_rank->second.slowed;
}

}  // namespace

Json compute_json(const RunReader& record) {
  return {{"emulated", side_json(record, record.emulated())}, {"reference", side_json(record, record.reference())}};
}

std::string compute_text(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  if (run == nullptr) return {};
  const RunTimes times(record, *run);
  if (times.models.empty()) return {};
  std::string text = fmt::format("{:<14}", "compute");
  for (const ComputeTimeRow& row : times.models) {
    text += fmt::format("{}{} by {} ({} nodes)", &row == &times.models.front() ? "" : ", ", readable(row.time),
                        row.model, row.nodes);
  }
  const auto add = [&](const char* name, Duration by) {
    if (by != Duration(0)) text += fmt::format("; {} {}", name, with_sign(by));
  };
  add("jitter", times.all.jitter);
  add("noise", times.all.noise);
  add("stragglers", times.all.slowed);
  text += '\n';
  const RankNames names(record);
  for (size_t i = 0; i < times.stragglers.size(); ++i) {
    if (i == kPrintedStragglers) {
      text += fmt::format("{:<14}and {} more, in summary.json\n", "", times.stragglers.size() - i);
      break;
    }
    const StragglerRow& row = times.stragglers[i];
    text += fmt::format("{:<14}{}; it computed {} longer\n", "", straggler_text(row, names),
                        readable(slowed_of(times, row.rank)));
  }
  return text;
}

std::string html_compute(const RunReader& record) {
  using HtmlColumn::kText;
  HtmlTable models("compute",
                   {{"Side", kText}, {"Model", kText}, {"Nodes"}, {"Time"}, {"Jitter"}, {"Noise"}, {"Stragglers"}});
  HtmlTable slow("compute", {{"Side", kText}, {"Straggler", kText}, {"The rank computed longer by"}});
  const RankNames names(record);
  bool any = false, any_slow = false;
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run == nullptr || !run->ended) continue;
    const RunTimes times(record, *run);
    const char* side = to_string(run->start.fidelity);
    for (const ComputeTimeRow& row : times.models) {
      any = true;
      const bool first = &row == &times.models.front();
      models.add({side, row.model, row.nodes, row.time, first ? with_sign(times.all.jitter) : "",
                  first ? with_sign(times.all.noise) : "", first ? with_sign(times.all.slowed) : ""});
    }
    for (size_t i = 0; i < std::min(times.stragglers.size(), kShownStragglers); ++i) {
      any_slow = true;
      slow.add({side, straggler_text(times.stragglers[i], names), slowed_of(times, times.stragglers[i].rank)});
    }
  }
  if (!any) return {};
  std::string html =
      "<p class=\"note\">What gave nodes that compute their times, all ranks together, and what was added on "
      "purpose.</p>\n" +
      std::move(models).finish();
  return any_slow ? html + std::move(slow).finish() : html;
}

}  // namespace rankwire
