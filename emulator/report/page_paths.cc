#include "emulator/report/page_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "emulator/report/activity.h"
#include "emulator/report/page_data.h"
#include "emulator/report/page_timeline.h"
#include "emulator/report/port_names.h"
#include "emulator/report/time_axis.h"
#include "emulator/report/timeline_columns.h"

namespace rankwire {
namespace {

constexpr int kPathLabel = 120, kPathBand = 8, kPathRow = 3 * kPathBand + 10, kPathTop = 8;
constexpr size_t kMostSlackRows = 1'000;

struct PathSide {
  const RecordedRun* run = nullptr;
  const CriticalPath* path = nullptr;
};
using PathSides = std::array<PathSide, 2>;

PathSides path_sides(const RunReader& record, const Diagnosis& diagnosis) {
  PathSides sides;
  if (diagnosis.path) sides[0] = {record.emulated(), &*diagnosis.path};
  if (diagnosis.reference_path) sides[1] = {record.reference(), &*diagnosis.reference_path};
  return sides;
}

/// Without scripts: of each side three bands, as in the picture of the timeline.
std::string paths_svg(const PathSides& sides, Time end) {
  static constexpr const char* kClasses[2][3] = {{"ec", "ex", "wait"}, {"rc", "rx", "wait"}};
  std::string bands;
  int top = kPathTop;
  for (size_t side = 0; side < sides.size(); ++side) {
    if (sides[side].path == nullptr) continue;
    std::array<TimelineColumns, 3> columns;
    for (const CriticalStep& step : sides[side].path->steps) {
      columns[step.communicates() ? 1 : 0].mark({step.from, step.to}, end);
      if (step.before > Duration()) columns[2].mark({step.from - step.before, step.from}, end);
    }
    bands += fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n", top + kPathBand + 4,
                         to_string(sides[side].run->start.fidelity));
    for (size_t what = 0; what < columns.size(); ++what)
      bands += columns[what].svg(kPathLabel, top + static_cast<int>(what) * kPathBand, kPathBand, kClasses[side][what]);
    top += kPathRow;
  }
  const int width = TimelineColumns::kWidth;
  return fmt::format("<svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>What the critical paths consist of</title>\n",
                     kPathLabel + width + 40, top + 20) +
         time_axis_svg(end, {.left = kPathLabel, .width = width, .height = top}) + bands + "</svg>\n";
}

/// An execution that is on both paths is one row, and so is what both wait for before it.
PageOperations path_rows(const PathSides& sides) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, bool>, OperationRow> rows;
  for (size_t side = 0; side < sides.size(); ++side) {
    if (sides[side].path == nullptr) continue;
    const auto add = [&](const CriticalStep& step, OperationTimes times, bool waits) {
      OperationRow& row = rows[{step.node.rank.value, step.iteration, step.node.node, waits}];
      row.node = step.node;
      row.iteration = step.iteration;
      if (waits) row.node.kind = kPathWait, row.node.bytes = Bytes();
      (side == 0 ? row.emulated : row.reference) = times;
    };
    for (const CriticalStep& step : sides[side].path->steps) {
      if (step.before > Duration()) add(step, {step.from - step.before, step.from}, true);
      add(step, {step.from, step.to}, false);
    }
  }
  PageOperations list(kMostPathRows);
  for (const auto& [key, row] : rows) list.add(row);
  return list;
}

/// Of ranks on the paths the port that they send from.
nlohmann::ordered_json path_ports(const RunReader& record, const PathSides& sides) {
  nlohmann::ordered_json ports = nlohmann::ordered_json::array();
  const RecordedRun* const run = sides[0].run != nullptr ? sides[0].run : sides[1].run;
  const std::vector<RankNic> nics = record.rank_nics(*run);
  const std::map<PortId, std::string> names = port_names(record, *run);
  std::map<uint32_t, bool> ranks;
  for (const PathSide& side : sides) {
    if (side.path == nullptr) continue;
    for (const CriticalStep& step : side.path->steps) ranks[step.node.rank.value] = true;
  }
  for (const auto& [rank, is_there] : ranks)
    if (rank < nics.size()) ports.push_back({rank, shortened_text(name_of(names, nics[rank].port), 100)});
  return ports;
}

/// How much later others of their patterns could have ended; what is on a path could not.
nlohmann::ordered_json path_slack(const Diagnosis& diagnosis) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!diagnosis.slack) return list;
  for (const SlackRow& row : diagnosis.slack->operations) {
    if (list.size() == kMostSlackRows) break;
    list.push_back({shortened_text(row.node.name, PageOperations::kLongestName), row.node.kind,
                    cut_text(row.node.group, PageOperations::kLongestName), row.least.ps, row.median.ps});
  }
  return list;
}

std::string path_keys(const PathSides& sides) {
  static constexpr const char* kClasses[2][2] = {{"ec", "ex"}, {"rc", "rx"}};
  std::string html;
  for (size_t side = 0; side < sides.size(); ++side) {
    if (sides[side].path == nullptr) continue;
    const char* const name = to_string(sides[side].run->start.fidelity);
    html += fmt::format("<span class=\"key {}\"></span>compute, {} <span class=\"key {}\"></span>communication, {} ",
                        kClasses[side][0], name, kClasses[side][1], name);
  }
  return html + "<span class=\"key wait\"></span>between operations";
}

}  // namespace

std::string html_paths(const RunReader& record, const Diagnosis& diagnosis) {
  const PathSides sides = path_sides(record, diagnosis);
  Time end;
  for (const PathSide& side : sides)
    if (side.path != nullptr) end = std::max(end, Time() + side.path->completion);
  if (end <= Time()) return {};
  return fmt::format(
      "<p class=\"note\">The chains that the completion times consist of, on one axis: {}</p>\n<div id=\"paths\">\n"
      "<div class=\"still\"><div class=\"wide\">{}</div></div>\n"
      "<script type=\"application/json\" id=\"path-steps\">{}</script>\n"
      "<script type=\"application/json\" id=\"path-facts\">{}</script>\n</div>\n",
      path_keys(sides), paths_svg(sides, end), path_rows(sides).json(record, end),
      json_in_script({{"ports", path_ports(record, sides)}, {"slack", path_slack(diagnosis)}}));
}

}  // namespace rankwire
