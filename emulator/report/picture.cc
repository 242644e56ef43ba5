#include "emulator/report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "emulator/report/format.h"
#include "emulator/report/timeline.h"

namespace rankwire {
namespace {

constexpr size_t kColumns = 400;
constexpr uint32_t kMostRanks = 32;
constexpr int kColumnWidth = 2, kLabelWidth = 150, kBand = 7, kRow = 2 * kBand + 4, kRank = 2 * kRow + 8, kTop = 8;

using Columns = std::bitset<kColumns>;
/// Of one (rank, side), by Activity.
using Busy = std::array<Columns, 2>;

/// By rank; only ranks that are drawn.
std::vector<Busy> busy_columns(const RunReader& record, const RecordedRun& run, Time end) {
  std::vector<Busy> busy;
  record.for_each_by_start(run, [&](const NodeInfo& node, uint32_t, OperationTimes times) {
    if (node.rank.value >= kMostRanks || times.duration() <= Duration(0)) return;
    if (busy.size() <= node.rank.value) busy.resize(node.rank.value + 1);
    const auto column = [&](int64_t ps) {
      return static_cast<size_t>(static_cast<__int128>(ps) * static_cast<int64_t>(kColumns) / end.ps);
    };
    const size_t last = std::min(column(times.end.ps - 1), kColumns - 1);
    Columns& columns = busy[node.rank.value][static_cast<size_t>(activity_of(node.kind))];
    for (size_t c = column(std::max<int64_t>(times.start.ps, 0)); c <= last; ++c) columns.set(c);
  });
  return busy;
}

/// The picture's right edge: the last end on either side.
Time last_end(const RunReader& record) {
  Time end;
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run != nullptr) end = std::max(end, record.last_end(*run));
  }
  return end;
}

void add_runs(std::string& svg, const Columns& columns, int y, const char* css) {
  for (size_t c = 0; c < kColumns;) {
    if (!columns[c]) {
      ++c;
      continue;
    }
    size_t stop = c;
    while (stop < kColumns && columns[stop]) ++stop;
    svg += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", css,
                       kLabelWidth + static_cast<int>(c) * kColumnWidth, y, static_cast<int>(stop - c) * kColumnWidth,
                       kBand);
    c = stop;
  }
}

void add_side(std::string& svg, const std::vector<Busy>& ranks, int side, const char* name) {
  static constexpr const char* kClasses[2][2] = {{"ec", "ex"}, {"rc", "rx"}};
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const int y = kTop + static_cast<int>(rank) * kRank + side * kRow;
    svg += fmt::format("<text x=\"0\" y=\"{}\">rank {} {}</text>\n", y + kBand + 4, rank, name);
    for (size_t activity = 0; activity < 2; ++activity) {
      add_runs(svg, ranks[rank][activity], y + static_cast<int>(activity) * kBand, kClasses[side][activity]);
    }
  }
}

std::string axis(Time end, int height) {
  std::string svg;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const int x = kLabelWidth + quarter * static_cast<int>(kColumns) * kColumnWidth / 4;
    svg += fmt::format("<line x1=\"{0}\" y1=\"0\" x2=\"{0}\" y2=\"{1}\"/>\n<text x=\"{0}\" y=\"{2}\">{3}</text>\n", x,
                       height, height + 12, readable(Duration(end.ps / 4 * quarter)));
  }
  return svg;
}

}  // namespace

std::string timeline_svg(const RunReader& record) {
  const Time end = last_end(record);
  if (end <= Time(0)) return {};
  std::string bars;
  size_t ranks = 0;
  int side = 0;
  for (const RecordedRun* run : {record.emulated(), record.reference()}) {
    if (run != nullptr) {
      const std::vector<Busy> busy = busy_columns(record, *run, end);
      add_side(bars, busy, side, to_string(run->start.fidelity));
      ranks = std::max(ranks, busy.size());
    }
    ++side;
  }
  const int height = kTop + static_cast<int>(ranks) * kRank;
  const int width = kLabelWidth + static_cast<int>(kColumns) * kColumnWidth + 60;
  return fmt::format(
             "<svg role=\"img\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
             "<title>Compute and communication of each rank over time</title>\n",
             width, height + 20) +
         axis(end, height) + bars + "</svg>\n";
}

}  // namespace rankwire
