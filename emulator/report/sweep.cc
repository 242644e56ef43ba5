#include "emulator/report/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/record/reader.h"
#include "emulator/report/activity.h"
#include "emulator/report/assessment.h"
#include "emulator/report/band.h"
#include "emulator/report/format.h"
#include "emulator/report/page_files.h"
#include "emulator/report/stall.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

SweepSide side_of(const RunReader& record, const RecordedRun& run) {
  std::vector<RankActivity> ranks(run.start.ranks);
  record.for_each_interval(run, [&](RankId rank, std::string_view kind, OperationTimes times) {
    if (rank.value < ranks.size()) ranks[rank.value].add(activity_of(kind), times);
  });
  __int128 compute = 0, communication = 0, exposed = 0;
  for (const RankActivity& rank : ranks) {
    compute += rank.compute.covered().ps;
    communication += rank.communication.covered().ps;
    exposed += rank.exposed_communication().ps;
  }
  const auto count = std::max<int64_t>(1, static_cast<int64_t>(ranks.size()));
  return {.run = sweep_side_name(record, run),
          .verdict = run.end.verdict,
          .completion = run.end.completion,
          .compute = Duration(static_cast<int64_t>(compute / count)),
          .communication = Duration(static_cast<int64_t>(communication / count)),
          .exposed = Duration(static_cast<int64_t>(exposed / count))};
}

std::optional<SweepStall> stall_of(const RunReader& record) {
  const Json stall = stall_json(record);
  if (stall.is_null()) return std::nullopt;
  SweepStall result{.kind = stall["class"], .culprit = {}, .text = stall["text"]};
  if (!stall["culprit"].is_null()) result.culprit = stall["culprit"].get<uint32_t>();
  return result;
}

bool is_emulated(const SweepSide& side) {
  return side.run == to_string(Fidelity::kTwin) || side.run == to_string(Fidelity::kEmulated);
}

/// What the record as a whole says beyond its runs, such as a limit that was broken, is about the emulated side where
/// there is one.
bool stands_for_all(const SweepPoint& point, const SweepSide& side) {
  return is_emulated(side) || std::ranges::none_of(point.sides, is_emulated);
}

/// Null where it is not known, or stands in the row of another side.
Json column_value(const SweepPoint& point, const SweepSide& side, size_t column) {
  return column < point.columns.size() && stands_for_all(point, side) ? point.columns[column] : Json();
}

/// "stalled (dead_peer, rank 5)"
std::string verdict_text(const SweepPoint& point, const SweepSide& side) {
  const std::string& verdict = side.verdict == "ok" && stands_for_all(point, side) ? point.verdict : side.verdict;
  if (!point.stall || side.verdict == "ok") return verdict;
  const std::string culprit = point.stall->culprit ? fmt::format(", rank {}", *point.stall->culprit) : "";
  return fmt::format("{} ({}{})", verdict, point.stall->kind, culprit);
}

/// Rows of texts as columns two spaces apart.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}", row[i], widths[i] + 2);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

/// Keys, then what came of them; a row a point and run.
std::vector<std::vector<std::string>> rows_of(const Sweep& sweep) {
  std::vector<std::vector<std::string>> rows(1, sweep.keys);
  for (const char* title : {"run", "verdict", "completion", "compute", "communication", "exposed", "ratio"})
    rows[0].push_back(title);
  for (const SweepColumn& column : sweep.columns) rows[0].push_back(column.title);
  for (const SweepPoint& point : sweep.points) {
    if (point.sides.empty()) {
      rows.push_back(point.values);
      rows.back().insert(rows.back().end(), {"-", point.verdict + ": " + point.reason});
    }
    for (const SweepSide& side : point.sides) {
      rows.push_back(point.values);
      rows.back().insert(rows.back().end(),
                         {side.run, verdict_text(point, side), readable(side.completion), readable(side.compute),
                          readable(side.communication), readable(side.exposed), readable_ratio(point.ratio)});
      for (size_t i = 0; i < sweep.columns.size(); ++i)
        rows.back().push_back(column_text(sweep.columns[i], column_value(point, side, i)));
    }
  }
  return rows;
}

constexpr int kBar = 12, kBetween = 2, kBarGap = 8, kPlot = 760;

/// The longest text of `labels` in units of the view box, at 11 px.
int label_width(const std::vector<std::string>& labels) {
  size_t longest = 0;
  for (const std::string& label : labels) longest = std::max(longest, label.size());
  return static_cast<int>(longest) * 7 + 12;
}

std::string label_of(const SweepPoint& point) {
  return fmt::format("{}", fmt::join(point.values, ", "));
}

/// Of compute and, right of it, exposed communication. Before the first operation of a rank and after its last one it
/// does neither, so that a bar may be shorter than the completion time beside it.
std::string bar(const SweepSide& side, int left, int y, double scale) {
  static constexpr const char* kClasses[2][2] = {{"ec", "ex"}, {"rc", "rx"}};
  const auto& [compute, communication] = kClasses[is_emulated(side) ? 0 : 1];
  const double middle = left + static_cast<double>(side.compute.ps) * scale;
  const double right = middle + static_cast<double>(side.exposed.ps) * scale;
  return fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n"
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n"
      "<text x=\"{:.1f}\" y=\"{}\">{} {}</text>\n",
      compute, left, y, middle - left, kBar, communication, middle, y, right - middle, kBar, right + 4, y + kBar - 2,
      readable(side.completion), side.run);
}

/// The longest bar among the points that have the scale of `point`.
Duration longest_beside(const SweepPoint& point, const Sweep& sweep, SweepScale scale) {
  Duration longest;
  for (const SweepPoint& other : sweep.points) {
    if (scale == SweepScale::kByFirstValue && other.values.front() != point.values.front()) continue;
    for (const SweepSide& side : other.sides) longest = std::max(longest, side.compute + side.exposed);
  }
  return longest;
}

}  // namespace

std::string sweep_picture(const Sweep& sweep, SweepScale scale) {
  std::vector<std::string> labels;
  for (const SweepPoint& point : sweep.points) labels.push_back(label_of(point));
  const int left = label_width(labels);
  std::string bars;
  int y = kBarGap;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    bars += fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n", y + kBar - 2, html_escaped(labels[i]));
    const auto longest = static_cast<double>(std::max<int64_t>(1, longest_beside(sweep.points[i], sweep, scale).ps));
    for (const SweepSide& side : sweep.points[i].sides) {
      bars += bar(side, left, y, kPlot / longest);
      y += kBar + kBetween;
    }
    if (sweep.points[i].sides.empty()) y += kBar;
    y += kBarGap;
  }
  return fmt::format(
             "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n"
             "<title>Compute and exposed communication of each point, means over the ranks</title>\n",
             left + kPlot + 160, y) +
         bars + "</svg></div>\n";
}

std::string sweep_side_name(const RunReader& record, const RecordedRun& run) {
  const auto models = std::ranges::count_if(record.models(), [&](auto* model) { return !is_replaced(record, *model); });
  if (run.start.fidelity != Fidelity::kReference || models < 2) return to_string(run.start.fidelity);
  return run.start.model == kMedianOfFlow ? kFlowModel : run.start.model;
}

std::string sweep_html_table(const Sweep& sweep) {
  std::string html = "<div class=\"wide\"><table>\n";
  const char* cell = "th";
  for (const auto& row : rows_of(sweep)) {
    html += "<tr>";
    for (const std::string& text : row) html += fmt::format("<{0}>{1}</{0}>", cell, html_escaped(text));
    html += "</tr>\n";
    cell = "td";
  }
  return html + "</table></div>\n";
}

void read_sweep_point(SweepPoint& point, const std::filesystem::path& folder, const std::vector<SweepColumn>& columns) {
  const RunReader record(folder);
  const RecordVerdict verdict = verdict_of(record);
  point.verdict = verdict.verdict;
  point.reason = verdict.reason;
  for (const RecordedRun& run : record.runs())
    if (!is_replaced(record, run)) point.sides.push_back(side_of(record, run));
  point.ratio = predicted_ratio(record);
  point.stall = stall_of(record);
  point.columns = read_columns(columns, folder);
}

int exit_status(const Sweep& sweep) {
  int status = 0;
  for (const SweepPoint& point : sweep.points) status = worse_status(status, exit_status(point.verdict));
  return status;
}

std::vector<std::string> failed_points(const Sweep& sweep) {
  std::vector<std::string> lines;
  for (const SweepPoint& point : sweep.points) {
    if (passes(point.verdict)) continue;
    std::string line = point.folder;
    for (size_t i = 0; i < sweep.keys.size(); ++i) line += fmt::format(", {}={}", sweep.keys[i], point.values[i]);
    lines.push_back(fmt::format("{}: {}: {}", line, point.verdict, point.reason.substr(0, point.reason.find('\n'))));
  }
  return lines;
}

Json point_json(const Sweep& sweep, const SweepPoint& point) {
  Json json{{"folder", point.folder}, {"verdict", point.verdict}, {"reason", point.reason}, {"runs", Json::array()}};
  for (const SweepSide& side : point.sides) {
    json["runs"].push_back({{"run", side.run},
                            {"verdict", side.verdict},
                            {"completion_time_ps", side.completion.ps},
                            {"compute_ps", side.compute.ps},
                            {"communication_ps", side.communication.ps},
                            {"exposed_communication_ps", side.exposed.ps}});
  }
  json["ratio"] = point.ratio ? Json(*point.ratio) : Json();
  json["stall"] = Json();
  if (point.stall)
    json["stall"] = {{"class", point.stall->kind},
                     {"culprit", point.stall->culprit ? Json(*point.stall->culprit) : Json()},
                     {"text", point.stall->text}};
  for (size_t i = 0; i < sweep.columns.size(); ++i)
    json["columns"][sweep.columns[i].name] = i < point.columns.size() ? point.columns[i] : Json();
  return json;
}

Json sweep_json(const Sweep& sweep) {
  Json json{{"name", sweep.name}, {"keys", sweep.keys}, {"points", Json::array()}};
  for (const SweepPoint& point : sweep.points) {
    Json item{{"settings", Json::object()}};
    for (size_t i = 0; i < sweep.keys.size(); ++i) item["settings"][sweep.keys[i]] = point.values[i];
    item.update(point_json(sweep, point));
    json["points"].push_back(std::move(item));
  }
  return json;
}

std::string sweep_csv_columns(const std::vector<SweepColumn>& columns) {
  std::string csv =
      "folder,run,verdict,completion_ps,compute_ps,communication_ps,exposed_communication_ps,ratio,stall,culprit";
  for (const SweepColumn& column : columns) csv += "," + csv_field(column.name);
  return csv;
}

std::vector<std::string> sweep_csv_lines(const Sweep& sweep, const SweepPoint& point) {
  const std::string begin = csv_field(point.folder) + ",";
  if (point.sides.empty())
    return {begin + fmt::format(",{},,,,,,,", csv_field(point.verdict)) + std::string(sweep.columns.size(), ',')};
  std::vector<std::string> lines;
  for (const SweepSide& side : point.sides) {
    const bool has_stalled = point.stall && side.verdict != "ok";
    lines.push_back(begin +
                    fmt::format("{},{},{},{},{},{},{},{},{}", csv_field(side.run), csv_field(side.verdict),
                                side.completion.ps, side.compute.ps, side.communication.ps, side.exposed.ps,
                                point.ratio ? fmt::to_string(*point.ratio) : "", has_stalled ? point.stall->kind : "",
                                has_stalled && point.stall->culprit ? fmt::to_string(*point.stall->culprit) : ""));
    for (size_t i = 0; i < sweep.columns.size(); ++i)
      lines.back() += "," + csv_field(column_field(column_value(point, side, i)));
  }
  return lines;
}

std::string sweep_csv(const Sweep& sweep) {
  std::string csv;
  for (const std::string& key : sweep.keys) csv += csv_field(key) + ",";
  csv += sweep_csv_columns(sweep.columns) + "\n";
  for (const SweepPoint& point : sweep.points) {
    std::string begin;
    for (const std::string& value : point.values) begin += csv_field(value) + ",";
    for (const std::string& line : sweep_csv_lines(sweep, point)) csv += begin + line + "\n";
  }
  return csv;
}

std::string sweep_table(const Sweep& sweep) {
  return aligned(rows_of(sweep));
}

std::string sweep_page_head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>{1}</style>"
      "</head>\n<body>\n<h1>{0}</h1>\n<p class=\"note\"><span class=\"key rc\"></span>compute "
      "<span class=\"key rx\"></span>exposed communication, means over the ranks; behind each bar the completion "
      "time of the slowest rank</p>\n",
      html_escaped(title), page_style());
}

std::string sweep_html(const Sweep& sweep) {
  return sweep_page_head(fmt::format("{} by {}", sweep.name, fmt::join(sweep.keys, ", "))) +
         sweep_picture(sweep, SweepScale::kCommon) + sweep_html_table(sweep) + "</body></html>\n";
}

}  // namespace rankwire
