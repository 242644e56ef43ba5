#include "emulator/report/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/report/format.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/time_axis.h"

namespace rankwire {
namespace {

constexpr int kLabelWidth = 120, kBand = 8, kRow = 2 * kBand + 3, kRankGap = 10, kFirstRow = 8;
constexpr int kPlotWidth = TimelineColumns::kWidth;

void add_side(std::string& svg, const SideActivity& activity, int row, int rows, const char* name,
              const RankNames& names) {
  static constexpr const char* kClasses[2][2] = {{"ec", "ex"}, {"rc", "rx"}};
  const bool reference = std::string_view(name) == to_string(Fidelity::kReference);
  for (size_t rank = 0; rank < activity.columns.size(); ++rank) {
    const int y = kFirstRow + static_cast<int>(rank) * (rows * kRow + kRankGap) + row * kRow;
    svg += fmt::format("<text x=\"0\" y=\"{}\">{} {}</text>\n", y + kBand + 4, html_escaped(names.label(rank)), name);
    for (size_t band = 0; band < 2; ++band) {
      svg += activity.columns[rank][band].svg(kLabelWidth, y + static_cast<int>(band) * kBand, kBand,
                                              kClasses[reference][band]);
    }
  }
}

}  // namespace

RecordActivity no_activity(const RunReader& record) {
  RecordActivity activity;
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run != nullptr) activity.end = std::max(activity.end, record.last_end(*run));
  }
  return activity;
}

void add_activity(RecordActivity& activity, size_t of_side, RankId rank, std::string_view kind, OperationTimes times) {
  SideActivity& side = activity.sides[of_side];
  const Activity what = activity_of(kind);
  if (side.ranks.size() <= rank.value) side.ranks.resize(rank.value + 1);
  side.ranks[rank.value].add(what, times);
  if (rank.value >= SideActivity::kMostDrawn) return;
  if (side.columns.size() <= rank.value) side.columns.resize(rank.value + 1);
  side.columns[rank.value][static_cast<size_t>(what)].mark(times, activity.end);
}

RecordActivity read_activity(const RunReader& record) {
  RecordActivity activity = no_activity(record);
  const std::array runs = {record.emulated(), record.reference()};
  for (size_t side = 0; side < runs.size(); ++side) {
    if (runs[side] == nullptr) continue;
    record.for_each_interval(*runs[side], [&](RankId rank, std::string_view kind, OperationTimes times) {
      add_activity(activity, side, rank, kind, times);
    });
  }
  return activity;
}

std::string timeline_svg(const RunReader& record, const RecordActivity& activity) {
  if (activity.end <= Time(0)) return {};
  std::vector<std::pair<const SideActivity*, const char*>> sides;
  if (const RecordedRun* run = record.emulated()) {
    sides.emplace_back(&activity.sides[0], to_string(run->start.fidelity));
  }
  if (record.reference() != nullptr) sides.emplace_back(&activity.sides[1], to_string(Fidelity::kReference));
  const RankNames names(record);
  std::string bars;
  size_t ranks = 0;
  const int rows = static_cast<int>(sides.size());
  for (int row = 0; row < rows; ++row) {
    const auto& [side, name] = sides[static_cast<size_t>(row)];
    add_side(bars, *side, row, rows, name, names);
    ranks = std::max(ranks, side->columns.size());
  }
  const int height = kFirstRow + static_cast<int>(ranks) * (rows * kRow + kRankGap);
  return fmt::format(
             "<svg role=\"img\" viewBox=\"0 0 {0} {1}\">\n"
             "<title>Compute and communication of each rank over time</title>\n",
             kLabelWidth + kPlotWidth + 40, height + 20) +
         time_axis_svg(activity.end, {.left = kLabelWidth, .width = kPlotWidth, .height = height}) + bars + "</svg>\n";
}

}  // namespace rankwire
