#include "emulator/traces/inspect_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_page.h"
#include "emulator/report/html_table.h"
#include "emulator/report/page_data.h"
#include "emulator/report/page_files.h"
#include "emulator/traces/inspect_charts.h"

namespace rankwire {
namespace {

using HtmlColumn::kText;
constexpr size_t kMostPageRows = 500, kMostRankRows = 256, kLongestName = 200;

const char* const kElsewhere = "the output of --json";

HtmlCell share_cell(Duration part, Duration whole) {
  const double share = whole > Duration() ? static_cast<double>(part.ps) / static_cast<double>(whole.ps) : 0;
  return HtmlCell::bar(fmt::format("{:.2f} %", 100 * share), share);
}

std::string percent(Duration part, Duration whole) {
  return whole > Duration()
             ? fmt::format("{:.1f} %", 100 * static_cast<double>(part.ps) / static_cast<double>(whole.ps))
             : "-";
}

std::string cards_html(const Inspection& inspection) {
  const auto card = [](const char* title, const std::string& value, const std::string& beneath) {
    return html_card("trace", title, value, beneath);
  };
  std::string html = "<div class=\"cards\">\n";
  html += card("Ranks", fmt::to_string(inspection.ranks.size()), fmt::format("{} nodes", inspection.nodes));
  const std::optional<RankTimes> sum = inspection.sum_of_times();
  if (sum) {
    html += card("End", readable(inspection.timing.end - Time(0)),
                 inspection.timing.recorded ? "recorded times" : "of an ideal schedule");
    html += card("Computation", percent(sum->compute, sum->span()), "of the ranks' time");
    html += card("Exposed communication", percent(sum->exposed(), sum->span()),
                 percent(sum->exposed(), sum->communication) + " of communication");
    html += card("Idle", percent(sum->idle.sum(), sum->span()), "of the ranks' time");
  }
  html +=
      card("Most bytes", readable_ratio(inspection.imbalance > 0 ? std::optional(inspection.imbalance) : std::nullopt),
           "times the mean of the ranks");
  return html + "</div>\n";
}

std::string remarks_html(const Inspection& inspection) {
  std::string html;
  if (!inspection.timing.problem.empty())
    html = fmt::format("<p>No times: {}.</p>\n", html_escaped(inspection.timing.problem));
  html += "<ul>\n";
  for (const std::string& remark : remarks(inspection)) html += fmt::format("<li>{}</li>\n", html_escaped(remark));
  return html + "</ul>\n";
}

std::string communication_html(const Inspection& inspection) {
  const auto rows = inspection.communication.sorted();
  if (rows.empty()) return {};
  HtmlTable table("trace", {{"Kind", kText},
                            {"Group", kText},
                            {"Count"},
                            {"Bytes"},
                            {"Shortest"},
                            {"Median"},
                            {"Longest"},
                            {"Total"},
                            {"Of communication"}});
  const size_t shown = std::min(rows.size(), kMostPageRows);
  const Duration total = inspection.communication.total();
  for (const auto& [key, tally] : std::span(rows).first(shown)) {
    table.add({key->kind, shortened_text(key->name, kLongestName), tally->count, tally->bytes, tally->least(),
               tally->median(), tally->most(), tally->total, share_cell(tally->total, total)});
  }
  return html_shown_of(shown, rows.size(), kElsewhere) + std::move(table).finish();
}

std::string operations_html(const Inspection& inspection) {
  const auto rows = inspection.operations.sorted();
  if (rows.empty()) return {};
  HtmlTable table("trace", {{"Kind", kText},
                            {"Operation", kText},
                            {"Count"},
                            {"Shortest"},
                            {"Median"},
                            {"Longest"},
                            {"Total"},
                            {"Of operations"}});
  const size_t shown = std::min(rows.size(), kMostPageRows);
  const Duration total = inspection.operations.total();
  for (const auto& [key, tally] : std::span(rows).first(shown)) {
    table.add({key->kind, shortened_text(key->name, kLongestName), tally->count, tally->least(), tally->median(),
               tally->most(), tally->total, share_cell(tally->total, total)});
  }
  return html_shown_of(shown, rows.size(), kElsewhere) + std::move(table).finish();
}

std::string ranks_html(const Inspection& inspection) {
  if (!inspection.sum_of_times()) return {};
  HtmlTable table("trace", {{"Rank"},
                            {"Nodes"},
                            {"Span"},
                            {"Computation"},
                            {"Communication"},
                            {"Exposed communication"},
                            {"Hidden"},
                            {"Copies alone"},
                            {"Idle"},
                            {"Idle share"}});
  const size_t shown = std::min(inspection.ranks.size(), kMostRankRows);
  for (const RankInspection& rank : std::span(inspection.ranks).first(shown)) {
    if (!rank.times) continue;
    const RankTimes& times = *rank.times;
    table.add({rank.rank, rank.nodes, times.span(), times.compute, times.communication, times.exposed(),
               times.communication > Duration() ? share_cell(times.both, times.communication) : HtmlCell("-"),
               times.memory, times.idle.sum(), share_cell(times.idle.sum(), times.span())});
  }
  return time_bars_svg(inspection) + html_shown_of(shown, inspection.ranks.size(), kElsewhere) +
         std::move(table).finish();
}

/// Cells of the causes, in their order.
void add_causes(std::vector<HtmlCell>& cells, const IdleTimes& idle) {
  for (const Duration time : idle.by_cause) cells.emplace_back(time);
}

std::string idle_html(const Inspection& inspection) {
  const std::optional<RankTimes> sum = inspection.sum_of_times();
  if (!sum) return {};
  HtmlTable ranks("trace idle",
                  {{"Rank"}, {"Idle"}, {"Host"}, {"Communication"}, {"Other stream"}, {"Launch"}, {"Other"}});
  HtmlTable streams("trace idle", {{"Rank"},
                                   {"Stream"},
                                   {"Operations"},
                                   {"Busy"},
                                   {"Idle"},
                                   {"Host"},
                                   {"Communication"},
                                   {"Other stream"},
                                   {"Launch"},
                                   {"Other"}});
  size_t shown_streams = 0, all_streams = 0;
  const size_t shown = std::min(inspection.ranks.size(), kMostRankRows);
  for (size_t place = 0; place < inspection.ranks.size(); ++place) {
    const RankInspection& rank = inspection.ranks[place];
    if (!rank.times) continue;
    std::vector<HtmlCell> cells = {rank.rank, rank.times->idle.sum()};
    add_causes(cells, rank.times->idle);
    if (place < shown) ranks.add(cells);
    for (const StreamTimes& stream : rank.times->streams) {
      if (all_streams++ >= kMostPageRows) continue;
      ++shown_streams;
      cells = {rank.rank, fmt::to_string(stream.stream), stream.operations, stream.busy, stream.idle.sum()};
      add_causes(cells, stream.idle);
      streams.add(cells);
    }
  }
  std::string html = "<p class=\"note\">Of the whole accelerator, between its first and its last operation.</p>\n" +
                     html_shown_of(shown, inspection.ranks.size(), kElsewhere) + std::move(ranks).finish();
  if (all_streams == 0) return html;
  return html + "<p class=\"note\">Of each stream, also while others are at work.</p>\n" +
         html_shown_of(shown_streams, all_streams, kElsewhere) + std::move(streams).finish();
}

std::string stragglers_html(const Inspection& inspection) {
  const Stragglers& stragglers = inspection.stragglers;
  if (stragglers.collectives == 0) return {};
  if (stragglers.worst.empty())
    return fmt::format("<p>To none of {} collectives one rank came behind all others.</p>\n", stragglers.collectives);
  HtmlTable ranks("trace", {{"Rank"}, {"Collectives"}, {"Last"}, {"Held others up"}, {"Waited"}});
  const size_t shown = std::min(inspection.ranks.size(), kMostRankRows);
  for (size_t place = 0; place < shown; ++place) {
    const RankLateness& rank = stragglers.ranks[place];
    ranks.add({inspection.ranks[place].rank, rank.collectives, rank.last, rank.held_up, rank.waited});
  }
  std::string html = html_shown_of(shown, inspection.ranks.size(), kElsewhere) + std::move(ranks).finish();
  HtmlTable calls("trace", {{"Kind", kText}, {"Group", kText}, {"Number"}, {"Last rank"}, {"Late"}, {"Spread"}});
  for (const LateCall& call : stragglers.worst) {
    calls.add({call.kind, shortened_text(call.group, kLongestName), call.number, inspection.ranks[call.place].rank,
               call.late, call.spread});
  }
  return html + "<p class=\"note\">The collectives to which one rank came latest.</p>\n" + std::move(calls).finish();
}

std::string path_html(const Inspection& inspection) {
  if (inspection.path.empty()) return {};
  HtmlTable kinds("trace", {{"Kind", kText}, {"On the path"}, {"Of the end"}});
  const Duration end = inspection.timing.end - Time(0);
  Duration covered;
  for (const auto& [kind, time] : path_by_kind(inspection)) {
    kinds.add({kind, time, share_cell(time, end)});
    covered += time;
  }
  const OperationTable operations = path_operations(inspection);
  const auto rows = operations.sorted();
  const size_t shown = std::min(rows.size(), kMostPageRows);
  HtmlTable table("trace", {{"Kind", kText}, {"Operation", kText}, {"Steps"}, {"On the path"}, {"Of the end"}});
  for (const auto& [key, tally] : std::span(rows).first(shown)) {
    table.add({key->kind, shortened_text(key->name, kLongestName), tally->count, tally->total,
               share_cell(tally->total, end)});
  }
  return fmt::format("<p class=\"note\">{} nodes of all ranks, {} of {}{}. What is left lies between nodes.</p>\n",
                     inspection.path.size(), readable(covered), readable(end),
                     inspection.timing.recorded ? ", by recorded times"
                                                : ", by recorded durations, sizes and an ideal network") +
         std::move(kinds).finish() + html_shown_of(shown, rows.size(), kElsewhere) + std::move(table).finish();
}

std::string memory_html(const Inspection& inspection) {
  const std::string lines = memory_lines_svg(inspection);
  if (lines.empty())
    return "<p>No node names tensors (attributes <code>inputs</code> and <code>outputs</code>), so "
           "nothing is known of memory over time.</p>\n";
  HtmlTable table("trace", {{"Rank"},
                            {"Tensors"},
                            {"Peak"},
                            {"Node", HtmlColumn::kNumber, "Peak node"},
                            {"Operation", kText, "Peak operation"}});
  const size_t shown = std::min(inspection.ranks.size(), kMostRankRows);
  for (const RankInspection& rank : std::span(inspection.ranks).first(shown)) {
    if (!rank.memory) continue;
    table.add({rank.rank, rank.memory->tensors, rank.memory->peak, rank.peak_node,
               shortened_text(rank.peak_name, kLongestName)});
  }
  return lines + html_shown_of(shown, inspection.ranks.size(), kElsewhere) + std::move(table).finish();
}

std::string difference_html(const TraceDifference& difference) {
  HtmlTable sides("trace difference", {{"Set", kText},
                                       {"Ranks"},
                                       {"Nodes"},
                                       {"End"},
                                       {"Computation"},
                                       {"Communication"},
                                       {"Exposed communication"},
                                       {"Idle"}});
  const auto add_side = [&](const std::string& name, const TraceDifference::Side& side) {
    sides.add({name, side.ranks, side.nodes, side.end, side.compute, side.communication, side.exposed, side.idle});
  };
  add_side("this one", difference.here);
  add_side(difference.name, difference.there);
  HtmlTable table("trace difference", {{"Change", kText},
                                       {"Kind", kText},
                                       {"Operation", kText},
                                       {"Count"},
                                       {"Other count"},
                                       {"Bytes"},
                                       {"Other bytes"},
                                       {"Total"},
                                       {"Other total"},
                                       {"Difference"}});
  size_t shown = 0, differ = 0;
  for (const OperationDifference& of : difference.operations) {
    if (of.change() == std::string_view("same")) continue;
    if (differ++ >= kMostPageRows) continue;
    ++shown;
    const Duration more = of.here.total - of.there.total;
    table.add({of.change(), of.key.kind, shortened_text(of.key.name, kLongestName), of.here.count, of.there.count,
               of.here.bytes, of.there.bytes, of.here.total, of.there.total,
               HtmlCell::valued((more < Duration() ? "-" : "") + readable(Duration(std::abs(more.ps))), more.ps)});
  }
  std::string html = std::move(sides).finish();
  if (differ == 0) return html + "<p>No operation differs in number, bytes or time.</p>\n";
  return html + html_shown_of(shown, differ, kElsewhere) + std::move(table).finish();
}

}  // namespace

std::string inspection_html(const Inspection& inspection, const std::optional<TraceDifference>& difference) {
  std::string html =
      html_head(inspection.name + ": traces", "svg .idle, .key.idle { fill: var(--line); background: var(--line); }\n");
  html += fmt::format("<h1>{}</h1>\n<p class=\"note\">rankwire trace inspect{}</p>\n", html_escaped(inspection.name),
                      difference ? " &middot; against " + html_escaped(difference->name) : "");
  html += cards_html(inspection);
  html += html_section("What stands out", remarks_html(inspection));
  if (difference) html += html_section("Differences", difference_html(*difference));
  html += html_section("Time of the ranks", ranks_html(inspection));
  html += html_section("Why ranks were idle", idle_html(inspection));
  html += html_section("Who came last to collectives", stragglers_html(inspection));
  html += html_section("Critical path", path_html(inspection));
  html += html_section("Bytes by rank", size_map_svg(inspection));
  html += html_section("Communication", communication_html(inspection));
  html += html_section("Operations", operations_html(inspection));
  html += html_section("Memory over time", memory_html(inspection));
  return html + fmt::format("<script type=\"module\">\n{}</script>\n</body></html>\n", page_script());
}

}  // namespace rankwire
