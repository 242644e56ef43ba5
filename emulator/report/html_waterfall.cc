#include "emulator/report/html_waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/html_table.h"
#include "emulator/report/metric_texts.h"
#include "emulator/report/page_data.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFallLeft = 64, kFallColumn = 106, kFallBar = 60, kFallTop = 26, kFallPlot = 220, kFallLine = 13,
              kFallLabelLines = 5;
constexpr int kFallBottom = kFallTop + kFallPlot, kFallHeight = kFallBottom + kFallLine * kFallLabelLines + 10;
constexpr size_t kLongestLabelLine = 16, kFallToldSteps = 3;

/// Where more of a part of the gap is told: titles of sections, of which the first that the page has counts.
std::vector<const char*> sections_of(GapCause cause) {
  switch (cause) {
    case GapCause::kCompute:
      return {"Compute", "Ranks"};
    case GapCause::kRecovering:
    case GapCause::kReceiverNotReady:
      return {"Losses", "Transport"};
    case GapCause::kPaused:
      return {"Pause storms", "Ports"};
    case GapCause::kCongestionControl:
      return {"Rates and windows over time", "Slowest queue pairs"};
    case GapCause::kGenerator:
      return {"Ports", "Timeline"};
    case GapCause::kWindow:
    case GapCause::kPort:
    case GapCause::kAcknowledgementFrames:
      return {"Slowest queue pairs", "Ports"};
    case GapCause::kAcknowledgement:
    case GapCause::kPathLatency:
      return {"Latency", "Slowest queue pairs"};
    case GapCause::kQueueingOwnJob:
      return {"Queues", "Latency", "Slowest queue pairs"};
    case GapCause::kQueueingOthers:
      return {"Jobs", "Background", "Queues"};
    case GapCause::kUnexplained:
    case GapCause::kFaster:
      return {"What it took longer for", "Who held the slowest communication up", "Operations"};
    default:
      return {"Timeline"};
  }
}

/// One column of the picture: from one level to the other, in picoseconds.
struct FallColumn {
  std::string name, value, css;
  std::string_view text;  ///< what it is
  int64_t from = 0, to = 0;
  std::string place;  ///< the id of its row; empty: it has none
  Json data;
};

/// The id of the row of a part. A picture and what belongs to it have ids of their own that begin with its name.
std::string row_of_part(const std::string& figure, GapCause cause) {
  return fmt::format("{}-{}", figure, to_string(cause));
}

const char* fall_css(GapCause cause, Duration part) {
  if (cause == GapCause::kUnexplained) return "unknown";
  if (part < Duration()) return "less";
  return cause == GapCause::kCompute ? "ec" : "ex";
}

/// The steps that have most of a part, on its side of zero.
Json most_steps(GapCause cause, Duration part, const CriticalPath& path, const Waterfall& waterfall,
                const RankNames& names) {
  std::vector<std::pair<Duration, size_t>> most;
  for (size_t i = 0; i < path.steps.size(); ++i) {
    const Duration of_step = waterfall.by_step[i][static_cast<size_t>(cause)];
    if (of_step != Duration() && (of_step > Duration()) == (part > Duration()))
      most.emplace_back(extent_of(of_step), i);
  }
  const size_t told = std::min(most.size(), kFallToldSteps);
  std::ranges::partial_sort(most, most.begin() + static_cast<std::ptrdiff_t>(told), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  Json list = Json::array();
  for (size_t n = 0; n < told; ++n) {
    const CriticalStep& step = path.steps[most[n].second];
    list.push_back({{"rank", step.node.rank.value},
                    {"label", names.titled(step.node.rank.value)},
                    {"iteration", step.iteration},
                    {"node", step.node.id},
                    {"name", shortened_text(step.node.name, 200)},
                    {"time", signed_time(waterfall.by_step[most[n].second][static_cast<size_t>(cause)])}});
  }
  return list;
}

FallColumn total_column(const char* name, const char* heading, Duration completion, const char* css) {
  FallColumn column{name, readable(completion), css, metric_text("gap", heading), 0, completion.ps, "", {}};
  column.data = {{"steps", Json::array()}, {"sections", {"Ranks"}}};
  return column;
}

/// Reference, parts, emulated; what nobody knows is last of the parts.
std::vector<FallColumn> fall_columns(const RunReader& record, const CriticalPath& path, const Waterfall& waterfall,
                                     const std::string& figure) {
  auto parts = parts_of(waterfall);
  std::stable_partition(parts.begin(), parts.end(),
                        [](const auto& part) { return part.first != GapCause::kUnexplained; });
  const RankNames names(record);
  Duration level = path.completion - waterfall.gap;
  std::vector<FallColumn> columns{total_column("reference", "reference", level, "rx total")};
  for (const auto& [cause, part] : parts) {
    const char* const name = phrase_of(cause);
    FallColumn column{name,     signed_time(part), fall_css(cause, part),      metric_text("gap", name),
                      level.ps, (level + part).ps, row_of_part(figure, cause), {}};
    column.data = {{"steps", most_steps(cause, part, path, waterfall, names)}, {"sections", sections_of(cause)}};
    columns.push_back(std::move(column));
    level += part;
  }
  columns.push_back(total_column(to_string(record.emulated()->start.fidelity), "emulated", path.completion,
                                 "rx emulated-total total"));
  return columns;
}

/// The heights of times. Where all that happens is near the top of the bars it does not begin at 0, and says so.
class HeightAxis {
 public:
  explicit HeightAxis(const std::vector<FallColumn>& columns) {
    int64_t low = columns.front().to;
    for (const FallColumn& column : columns) {
      low = std::min(low, column.to);
      to_ = std::max(to_, column.to);
    }
    const int64_t span = to_ - low;
    if (span * 3 < to_) from_ = std::max<int64_t>(low - std::max<int64_t>(span, 1), 0);
  }
  double operator()(int64_t time) const {
    const double part = static_cast<double>(std::max(time, from_) - from_) / static_cast<double>(to_ - from_);
    return kFallBottom - part * kFallPlot;
  }
  bool is_cut() const { return from_ > 0; }
  Duration from() const { return Duration(from_); }

  std::string svg(int width) const {
    std::string svg;
    for (int line = 0; line <= 4; ++line) {
      const int64_t time = from_ + (to_ - from_) / 4 * line;
      const double y = (*this)(time);
      svg += fmt::format(
          "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/><text class=\"unit\" x=\"0\" "
          "y=\"{:.1f}\">{}</text>\n",
          kFallLeft, y, width, y, y + 4, readable(Duration(time)));
    }
    return svg;
  }

 private:
  int64_t from_ = 0, to_ = 0;
};

/// Words in lines that fit beneath a bar.
std::vector<std::string> label_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= kLongestLabelLine)
      lines.back().append(" ").append(word);
    else
      lines.emplace_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string fall_column_svg(const FallColumn& column, size_t place, const HeightAxis& axis, const std::string& figure,
                            bool is_last) {
  const int left = kFallLeft + static_cast<int>(place) * kFallColumn, middle = left + kFallColumn / 2,
            bar = middle - kFallBar / 2;
  const bool is_total = column.place.empty(), goes_down = !is_total && column.to < column.from;
  const double from = is_total ? kFallBottom : axis(column.from), to = axis(column.to);
  const double top = std::min(from, to), height = std::max(std::max(from, to) - top, 1.0);
  std::string svg =
      fmt::format("<a class=\"part\" data-part=\"{}\"{} aria-label=\"{}: {}\"><title>{}: {}. {}</title>\n", place,
                  fmt::format(" href=\"#{}\"", is_total ? figure : column.place), html_escaped(column.name),
                  column.value, html_escaped(column.name), column.value, html_escaped(column.text));
  svg += fmt::format("<rect class=\"place\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\"/>\n", left, kFallColumn,
                     kFallHeight);
  const std::string hatched =
      column.css == "unknown" ? fmt::format(" style=\"fill:url(#{}-hatched)\"", figure) : std::string();
  svg += fmt::format("<rect class=\"{}\"{} x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>\n", column.css,
                     hatched, bar, top, kFallBar, height);
  if (is_total && axis.is_cut())
    svg += fmt::format("<path class=\"cut\" d=\"M{} {}l15 -6l15 6l15 -6l15 6\"/>\n", bar, kFallBottom - 12);
  svg += fmt::format("<text class=\"value\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", middle,
                     goes_down ? top + height + 13 : top - 5, column.value);
  const std::vector<std::string> lines = label_lines(column.name);
  for (size_t i = 0; i < lines.size(); ++i)
    svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>\n", middle,
                       kFallBottom + kFallLine + 5 + static_cast<int>(i) * kFallLine, html_escaped(lines[i]));
  svg += "</a>\n";
  if (!is_last)
    svg += fmt::format("<line class=\"level\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>\n", bar + kFallBar, to,
                       bar + kFallColumn, to);
  return svg;
}

std::string fall_picture(const std::vector<FallColumn>& columns, const std::string& figure) {
  const HeightAxis axis(columns);
  const int width = kFallLeft + static_cast<int>(columns.size()) * kFallColumn;
  std::string svg = axis.svg(width);
  Json data = Json::array();
  for (size_t i = 0; i < columns.size(); ++i) {
    svg += fall_column_svg(columns[i], i, axis, figure, i + 1 == columns.size());
    Json entry = {{"name", columns[i].name}, {"value", columns[i].value}, {"text", columns[i].text}};
    entry.update(columns[i].data);
    data.push_back(std::move(entry));
  }
  const std::string cut =
      axis.is_cut() ? fmt::format(" The axis begins at {}, not at 0.", readable(axis.from())) : std::string();
  // Each column keeps the room that its words need; where there is less the picture moves sideways.
  return fmt::format(
      "<p class=\"note\">From the reference to what was emulated: causes that made the run longer rise, what made it "
      "shorter goes down, and what nobody knows is hatched.{}</p>\n"
      "<figure class=\"fall\" id=\"{}\" data-parts=\"{}\"><div class=\"wide\"><svg class=\"waterfall\" role=\"group\" "
      "viewBox=\"0 0 {} {}\" style=\"min-width:{}px;max-width:{}px\" aria-label=\"Parts of the gap\">\n"
      "<defs><pattern id=\"{}-hatched\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect class=\"hatch\" width=\"3\" "
      "height=\"6\"/></pattern></defs>\n{}</svg></div>"
      "</figure>\n",
      cut, figure, json_in_attribute(data), width, kFallHeight, width * 7 / 8, width * 5 / 4, figure, svg);
}

/// What to think of the column of replays, where they are far off.
std::string html_replay_error(const RunReader& record, const CausesRemoved& removed) {
  constexpr double kNotable = 0.01;
  const Duration reference = record.reference()->end.completion;
  const double error = ratio_of(removed.all - reference, reference).value_or(0);
  if (std::abs(error) <= kNotable) return {};
  return fmt::format(
      "<p class=\"note\">The last column comes of replays that are {:+.0f} % off here: without all parts "
      "they end at {}, and the reference ends at {}.</p>\n",
      error * 100, readable(removed.all), readable(reference));
}

/// `figure` is the id of the picture, `removed` null where nothing was replayed. Empty where there is no gap.
std::string picture_and_table(const RunReader& record, const CriticalPath& path, const Waterfall& waterfall,
                              const CausesRemoved* removed, const std::string& figure) {
  if (waterfall.gap == Duration()) return {};
  const auto parts = parts_of(waterfall);
  const Duration largest = extent_of(parts.front().second);
  const auto of_completion = [&](Duration part) {
    return fmt::format("{:.2f} %", 100 * ratio_of(part, path.completion).value_or(0));
  };
  std::vector<HtmlTable::Heading> headings = {{"Part of the gap", HtmlColumn::kText}, {"Time"}, {"Of the completion"}};
  if (removed != nullptr) headings.push_back({"Without it"});
  HtmlTable table("critical path", headings);
  const auto add = [&](std::vector<HtmlCell> cells, const std::optional<Duration>& without, const std::string& rest) {
    if (removed != nullptr) cells.push_back(without);
    table.add(std::move(cells), rest);
  };
  for (const auto& [cause, part] : parts) {
    add({phrase_of(cause), HtmlCell::bar(signed_time(part), ratio_of(extent_of(part), largest).value_or(0)),
         of_completion(part)},
        removed != nullptr ? removed->without[static_cast<size_t>(cause)] : std::nullopt,
        fmt::format(" id=\"{}\"{}", row_of_part(figure, cause), html_title("gap", phrase_of(cause))));
  }
  add({"together", signed_time(waterfall.gap), of_completion(waterfall.gap)},
      removed != nullptr ? std::optional(removed->all) : std::nullopt, html_title("gap", "together"));
  return fall_picture(fall_columns(record, path, waterfall, figure), figure) + std::move(table).finish() +
         (removed != nullptr ? html_replay_error(record, *removed) : std::string());
}

}  // namespace

std::string html_waterfall(const RunReader& record, const CriticalPath& path, const Waterfall& waterfall,
                           const CausesRemoved* removed) {
  std::string html = picture_and_table(record, path, waterfall, removed, "gap");
  if (removed == nullptr && !html.empty())
    html += fmt::format(
        "<p class=\"note\">What each part is worth is not told: replays without it are of {},000 executions at most, "
        "and "
        "the run has more.</p>\n",
        kMostReplayedExecutions / 1000);
  return html;
}

std::string html_job_waterfalls(const RunReader& record, const std::vector<JobDiagnosis>& jobs) {
  constexpr size_t kOpened = 2;
  std::string html;
  size_t opened = 0;
  for (const JobDiagnosis& job : jobs) {
    const std::string picture =
        picture_and_table(record, job.path, job.waterfall, nullptr, fmt::format("job{}-gap", job.job.value));
    if (picture.empty()) continue;
    html += fmt::format("<details{}><summary>The gap of job {}: {} in {}</summary>\n{}</details>\n",
                        opened++ < kOpened ? " open" : "", html_escaped(record.jobs()[job.job.value].name),
                        signed_time(job.waterfall.gap), readable(job.path.completion), picture);
  }
  return html;
}

}  // namespace rankwire
