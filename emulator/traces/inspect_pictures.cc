#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "emulator/report/format.h"
#include "emulator/report/time_axis.h"
#include "emulator/traces/inspect.h"
#include "emulator/traces/svg.h"

namespace rankwire {
namespace {

constexpr size_t kMostBars = 256, kMostLines = 16, kMostPoints = 2000;
constexpr int kLeft = 70, kWidth = 900, kTop = 24, kHeight = 260;

/// Lines across the plot at quarters of the largest value, with their sizes.
std::string size_axis(int64_t most) {
  std::string svg;
  for (int i = 0; i <= 4; ++i) {
    const int y = kTop + kHeight - kHeight * i / 4;
    svg += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n<text x=\"0\" y=\"{}\">{}</text>\n", kLeft, y,
                       kLeft + kWidth, y, y + 4, readable(Bytes(most / 4 * i)));
  }
  return svg;
}

double height_of(int64_t value, int64_t most) {
  return kHeight * static_cast<double>(value) / static_cast<double>(most);
}

/// Lines of the first kMostLines ranks with tensors over the axes, and how many those are.
struct MemoryLines {
  std::string svg;
  size_t lines = 0;
};

MemoryLines memory_lines(const Inspection& inspection) {
  int64_t most = 0;
  for (const RankInspection& rank : inspection.ranks) most = std::max(most, rank.memory ? rank.memory->peak.count : 0);
  if (most == 0 || inspection.timing.end <= Time(0)) return {};
  std::string svg = size_axis(most) + time_axis_svg(inspection.timing.end, {kLeft, kWidth, kTop + kHeight});
  size_t lines = 0;
  for (size_t place = 0; place < inspection.ranks.size() && lines < kMostLines; ++place) {
    const auto& memory = inspection.ranks[place].memory;
    if (!memory) continue;
    ++lines;
    // Of many steps within one point of the picture the largest counts.
    std::vector<int64_t> columns(kMostPoints, -1);
    int64_t before = 0;
    size_t column = 0;
    for (const MemoryUse::Step& step : memory->steps) {
      const auto at =
          static_cast<size_t>(static_cast<__int128>(step.time.ps) * (kMostPoints - 1) / inspection.timing.end.ps);
      for (; column < std::min(at, kMostPoints); ++column) columns[column] = std::max(columns[column], before);
      before = step.bytes.count;
      columns[std::min(at, kMostPoints - 1)] = std::max(columns[std::min(at, kMostPoints - 1)], before);
    }
    std::string points;
    for (size_t c = 0; c < kMostPoints; ++c) {
      if (columns[c] < 0) continue;
      points += fmt::format("{:.1f},{:.1f} ", kLeft + kWidth * static_cast<double>(c) / (kMostPoints - 1),
                            kTop + kHeight - height_of(columns[c], most));
    }
    svg += fmt::format(
        "<polyline class=\"curve emulated\" stroke-opacity=\"0.6\" points=\"{}\"><title>rank {}</title></polyline>\n",
        points, inspection.ranks[place].rank);
  }
  return {svg, lines};
}

constexpr SvgSize kMemorySize = {kLeft + kWidth + 40, kTop + kHeight + 24};

std::string memory_title(const Inspection& inspection, size_t lines) {
  return fmt::format("Memory of tensors over time, {} of {} ranks", lines, inspection.ranks.size());
}

}  // namespace

std::string traffic_svg(const Inspection& inspection) {
  struct Series {
    Bytes TraceTraffic::*bytes;
    const char *css, *name;
  };
  static constexpr std::array kSeries = {Series{&TraceTraffic::collective, "communication", "collectives"},
                                         Series{&TraceTraffic::sent, "compute", "sent"},
                                         Series{&TraceTraffic::received, "other", "received"}};
  const size_t ranks = inspection.ranks.size(), together = (ranks + kMostBars - 1) / std::max<size_t>(kMostBars, 1);
  int64_t most = 0;
  for (const RankInspection& rank : inspection.ranks) {
    for (const Series& series : kSeries) most = std::max(most, (rank.traffic.*series.bytes).count);
  }
  if (most == 0) return {};
  const size_t bars = (ranks + together - 1) / together;
  const double slot = static_cast<double>(kWidth) / static_cast<double>(bars);
  std::string svg = size_axis(most);
  for (size_t bar = 0; bar < bars; ++bar) {
    const size_t first = bar * together, last = std::min(first + together, ranks);
    const double x = kLeft + slot * static_cast<double>(bar);
    for (size_t s = 0; s < kSeries.size(); ++s) {
      int64_t sum = 0;
      for (size_t place = first; place < last; ++place) {
        sum += (inspection.ranks[place].traffic.*kSeries[s].bytes).count / static_cast<int64_t>(last - first);
      }
      const double height = height_of(sum, most);
      if (sum == 0) continue;
      svg += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
                         kSeries[s].css, x + slot * 0.3 * static_cast<double>(s), kTop + kHeight - height, slot * 0.3,
                         height);
    }
    if (bar % ((bars + 15) / 16) == 0) {
      svg += fmt::format("<text class=\"tick\" x=\"{:.2f}\" y=\"{}\">{}</text>\n", x + slot / 2, kTop + kHeight + 14,
                         inspection.ranks[first].rank);
    }
  }
  std::vector<SvgKey> keys;
  for (const Series& series : kSeries) keys.push_back({series.css, series.name});
  return svg_document({kLeft + kWidth + 20, kTop + kHeight + 24}, "Bytes of each rank", keys, svg);
}

std::string memory_svg(const Inspection& inspection) {
  const MemoryLines drawn = memory_lines(inspection);
  if (drawn.lines == 0) return {};
  return svg_document(kMemorySize, memory_title(inspection, drawn.lines), {}, drawn.svg);
}

std::string memory_lines_svg(const Inspection& inspection) {
  const MemoryLines drawn = memory_lines(inspection);
  if (drawn.lines == 0) return {};
  return fmt::format(
      "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n{}</svg></div>\n",
      kMemorySize.width, kMemorySize.height, memory_title(inspection, drawn.lines), drawn.svg);
}

}  // namespace rankwire
