#include "emulator/report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "emulator/report/format.h"
#include "emulator/report/page_data.h"

namespace rankwire {
namespace {

constexpr int kHeatMapLeft = 200, kHeatMapWidth = 800, kHeatMapRight = 90, kHeatMapRow = 16, kHeatLevels = 8;
constexpr size_t kLongestRowName = 28;

int level_of(double part) {
  return part <= 0 ? 0 : std::clamp(static_cast<int>(std::ceil(part * kHeatLevels)), 1, kHeatLevels);
}

}  // namespace

PlotArea heat_map_area(size_t rows) {
  return {.left = kHeatMapLeft, .width = kHeatMapWidth, .height = static_cast<int>(rows) * kHeatMapRow};
}

/// A path for each level; neighbours of one row and level are one rectangle of it.
std::string heat_map_svg(const char* title, std::span<const HeatRow> rows, const std::string& axis) {
  std::array<std::string, kHeatLevels + 1> paths;
  std::string texts;
  const double width = static_cast<double>(kHeatMapWidth) / static_cast<double>(rows.front().parts.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const HeatRow& row = rows[r];
    const int top = static_cast<int>(r) * kHeatMapRow;
    texts += fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n<text class=\"unit\" x=\"{}\" y=\"{}\">{}</text>\n",
                         top + kHeatMapRow - 4, html_escaped(shortened_text(row.name, kLongestRowName)),
                         kHeatMapLeft + kHeatMapWidth + 8, top + kHeatMapRow - 4, html_escaped(row.note));
    for (size_t c = 0; c < row.parts.size();) {
      const int level = level_of(row.parts[c]);
      size_t stop = c + 1;
      while (stop < row.parts.size() && level_of(row.parts[stop]) == level) ++stop;
      const double length = static_cast<double>(stop - c) * width;
      if (level > 0)
        paths[static_cast<size_t>(level)] +=
            fmt::format("M{:g} {}h{:g}v{}h{:g}z", kHeatMapLeft + static_cast<double>(c) * width, top + 1, length,
                        kHeatMapRow - 2, -length);
      c = stop;
    }
  }
  std::string cells;
  for (int level = 1; level <= kHeatLevels; ++level)
    if (const std::string& path = paths[static_cast<size_t>(level)]; !path.empty())
      cells += fmt::format("<path class=\"heat\" fill-opacity=\"{:.2f}\" d=\"{}\"/>\n",
                           0.1 + 0.9 * (level - 1) / (kHeatLevels - 1), path);
  return fmt::format("<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n",
                     kHeatMapLeft + kHeatMapWidth + kHeatMapRight, static_cast<int>(rows.size()) * kHeatMapRow + 20,
                     html_escaped(title)) +
         axis + cells + texts + "</svg></div>\n";
}

}  // namespace rankwire
