#include "emulator/report/page_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/sort_unique.h"
#include "emulator/report/activity.h"
#include "emulator/report/html_table.h"
#include "emulator/report/jobs.h"
#include "emulator/report/page_data.h"
#include "emulator/report/page_messages.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Texts in order, each without what it has in common with the one before.
struct Names {
  std::vector<std::string> sorted;
  std::vector<std::string> rest;
  std::vector<int64_t> shared;  // of ASCII alone, so that bytes are characters, whatever a script counts
  size_t bytes = 0;

  explicit Names(std::vector<std::string> names) : sorted(std::move(names)) {
    sort_unique(sorted);
    std::string_view before;
    for (const std::string& name : sorted) {
      size_t same = 0;
      while (same < std::min(name.size(), before.size()) && name[same] == before[same] && name[same] > 0) ++same;
      shared.push_back(static_cast<int64_t>(same));
      bytes += rest.emplace_back(name.substr(same)).size();
      before = name;
    }
  }
  int64_t number_of(std::string_view name) const { return std::ranges::lower_bound(sorted, name) - sorted.begin(); }
};

/// The colour of a rank's job; empty where there are fewer than two.
std::string color_of_rank(const RunReader& record, uint64_t rank) {
  if (record.jobs().size() < 2) return {};
  for (const JobInfo& job : record.jobs()) {
    if (rank >= job.first_rank && rank - job.first_rank < job.ranks) return color_of(job);
  }
  return {};
}

const char* name_of(const RecordedRun* run) {
  return run == nullptr ? nullptr : to_string(run->start.fidelity);
}

Json side_name(const RecordedRun* run) {
  return run == nullptr ? Json(nullptr) : Json(name_of(run));
}

std::string legend(const RunReader& record) {
  std::string html;
  const auto add = [&](const RecordedRun* run, const char* compute, const char* communication) {
    if (run == nullptr) return;
    html += fmt::format("<span class=\"key {}\"></span>compute, {} <span class=\"key {}\"></span>communication, {} ",
                        compute, name_of(run), communication, name_of(run));
  };
  add(record.emulated(), "ec", "ex");
  add(record.reference(), "rc", "rx");
  return html;
}

}  // namespace

uint32_t PageOperations::Dictionary::operator()(std::string_view text) {
  const auto found = numbers.find(text);
  if (found != numbers.end()) return found->second;
  return numbers.emplace(text, static_cast<uint32_t>(numbers.size())).first->second;
}

std::vector<std::string> PageOperations::Dictionary::texts() const {
  std::vector<std::string> list(numbers.size());
  for (const auto& [text, number] : numbers) list[number] = std::string(cut_text(text, kLongestName));
  return list;
}

void PageOperations::add(const OperationRow& row) {
  if (!row.emulated && !row.reference) return;
  const auto duration = [](const auto& times) { return times ? times->duration() : Duration(0); };
  const Duration longest = std::max(duration(row.emulated), duration(row.reference));
  const uint64_t order = count_++;
  if (kept_.size() == most_) {
    if (most_ == 0 || longest <= kept_.front().longest) return;  // of equal ones the first stay
    std::pop_heap(kept_.begin(), kept_.end());
    kept_.pop_back();
  }
  kept_.push_back({.longest = longest,
                   .order = order,
                   .rank = row.node.rank.value,
                   .iteration = row.iteration,
                   .kind = kinds_(row.node.kind),
                   .group = groups_(row.node.group),
                   .job = row.node.job,
                   .peer = row.node.peer,
                   .sequence = row.node.sequence,
                   .id = row.node.id,
                   .bytes = row.node.bytes,
                   .emulated = row.emulated,
                   .reference = row.reference,
                   // One byte more than is shown tells that there was more.
                   .name = std::string(cut_text(row.node.name, kLongestName + 4))});
  if (kept_.size() == most_) {
    if (count_ == most_)
      std::make_heap(kept_.begin(), kept_.end());
    else
      std::push_heap(kept_.begin(), kept_.end());
  }
}

std::vector<const std::string*> PageOperations::Dictionary::whole() const {
  std::vector<const std::string*> list(numbers.size());
  for (const auto& [text, number] : numbers) list[number] = &text;
  return list;
}

std::vector<const PageOperations::Kept*> PageOperations::in_order() const {
  std::vector<const Kept*> rows;
  rows.reserve(kept_.size());
  for (const Kept& kept : kept_) rows.push_back(&kept);
  std::ranges::sort(rows, {}, [](const Kept* k) { return std::tuple(k->rank, k->start(), k->order); });
  return rows;
}

std::vector<PageOperations::Row> PageOperations::rows() const {
  const std::vector<const std::string*> kinds = kinds_.whole(), groups = groups_.whole();
  std::vector<Row> list;
  for (const Kept* k : in_order())
    list.push_back({RankId(k->rank), k->peer, k->job, k->iteration, k->sequence, kinds[k->kind], groups[k->group],
                    &k->emulated, &k->reference});
  return list;
}

std::string PageOperations::json(const RunReader& record, Time end) const {
  const std::vector<const Kept*> rows = in_order();
  Duration shortest;
  if (count_ > rows.size() && !rows.empty()) shortest = kept_.front().longest;

  size_t limit = kLongestName;
  const auto shown = [&](const Kept* kept) { return shortened_text(kept->name, limit); };
  const auto names_of_all = [&] {
    std::vector<std::string> names;
    for (const Kept* kept : rows) names.push_back(shown(kept));
    return Names(std::move(names));
  };
  Names names = names_of_all();
  for (; names.bytes > kMostNameBytes && limit > 25; names = names_of_all()) limit /= 2;

  const auto column = [&](auto value) {
    std::vector<int64_t> numbers;
    for (const Kept* kept : rows) numbers.push_back(static_cast<int64_t>(value(*kept)));
    return vlq_differences(numbers);
  };
  // Where a side is absent its numbers do not change, which takes one character.
  const auto times = [&](std::optional<OperationTimes> Kept::*side, auto value) {
    int64_t last = 0;
    return column([&, side](const Kept& k) { return last = k.*side ? value(*(k.*side)) : last; });
  };
  const auto start = [](const OperationTimes& t) { return t.start.ps; };
  const auto duration = [](const OperationTimes& t) { return t.duration().ps; };

  Json kinds = Json::array(), labels = Json::array();
  for (const std::string& kind : kinds_.texts())
    kinds.push_back({kind, activity_of(kind) == Activity::kCompute ? 0 : 1});
  const RankNames rank_names(record);
  for (uint64_t last = UINT64_MAX; const Kept* kept : rows) {
    if (std::exchange(last, kept->rank) == kept->rank) continue;
    labels.push_back({kept->rank, rank_names.label(kept->rank), color_of_rank(record, kept->rank)});
  }
  return json_in_script(
      Json{{"end_ps", end.ps},
           {"operations", rows.size()},
           {"left_out", count_ - rows.size()},
           {"shortest_ps", shortest.ps},
           {"sides", {side_name(record.emulated()), side_name(record.reference())}},
           {"ranks", std::move(labels)},
           {"kinds", std::move(kinds)},
           {"groups", groups_.texts()},
           {"names", {{"shared", vlq_differences(names.shared)}, {"rest", names.rest}}},
           {"columns",
            {{"rank", column([](const Kept& k) { return k.rank; })},
             {"name", column([&](const Kept& k) { return names.number_of(shown(&k)); })},
             {"kind", column([](const Kept& k) { return k.kind; })},
             {"group", column([](const Kept& k) { return k.group; })},
             {"iteration", column([](const Kept& k) { return k.iteration; })},
             {"node", column([](const Kept& k) { return k.id; })},
             {"bytes", column([](const Kept& k) { return k.bytes.count; })},
             {"sides", column([](const Kept& k) { return (k.emulated ? 1 : 0) + (k.reference ? 2 : 0); })},
             {"emulated_start", times(&Kept::emulated, start)},
             {"emulated_duration", times(&Kept::emulated, duration)},
             {"reference_start", times(&Kept::reference, start)},
             {"reference_duration", times(&Kept::reference, duration)}}}});
}

std::string html_timeline(const RunReader& record, const RecordActivity& activity, const PageOperations& operations) {
  const std::string svg = timeline_svg(record, activity);
  if (svg.empty()) return {};
  const size_t ranks = std::max(activity.sides[0].ranks.size(), activity.sides[1].ranks.size());
  return fmt::format(
      "<p class=\"note\">{}</p>\n<div id=\"timeline\">\n<div class=\"still\">{}<div class=\"wide\">{}</div></div>\n"
      "<script type=\"application/json\" id=\"operations\">{}</script>\n"
      "<script type=\"application/json\" id=\"messages\">{}</script>\n</div>\n",
      legend(record), html_shown_of(SideActivity::kMostDrawn, ranks, "timeline.json"), svg,
      operations.json(record, activity.end), page_messages_json(record, operations));
}

}  // namespace rankwire
