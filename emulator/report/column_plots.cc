#include "emulator/report/column_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "emulator/report/format.h"
#include "emulator/report/time_axis.h"

namespace rankwire {
namespace {

constexpr int kNameWidth = 120, kColumnWidth = 2, kPlotHeight = 60, kPlotGap = 12, kRoomForBars = 12, kBarHeight = 3;
constexpr int kSeriesWidth = static_cast<int>(kPlotColumns) * kColumnWidth;

int left_of(size_t column) {
  return kNameWidth + static_cast<int>(column) * kColumnWidth;
}

int height_of(double value) {
  return static_cast<int>(std::lround(std::clamp(value, 0.0, 1.0) * (kPlotHeight - kRoomForBars)));
}

std::string rectangle(const char* css, size_t column, size_t columns, int top, int height) {
  return fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", css, left_of(column), top,
                     static_cast<int>(columns) * kColumnWidth, height);
}

/// Calls `draw(first, columns)` for each run of columns that are equal by `value`.
template <class Value, class Draw>
void for_each_stretch(size_t columns, Value value, Draw draw) {
  for (size_t c = 0; c < columns;) {
    size_t stop = c + 1;
    while (stop < columns && value(stop) == value(c)) ++stop;
    draw(c, stop - c);
    c = stop;
  }
}

std::string plot_svg(const ColumnPlot& plot, int top) {
  std::string svg = fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n<text class=\"unit\" x=\"0\" y=\"{}\">{}</text>\n",
                                top + 20, html_escaped(plot.name), top + 34, html_escaped(plot.unit));
  const auto filled = [&](size_t c) { return height_of(plot.filled[c]); };
  for_each_stretch(plot.filled.size(), filled, [&](size_t first, size_t columns) {
    if (filled(first) > 0) svg += rectangle("ec", first, columns, top + kPlotHeight - filled(first), filled(first));
  });
  const auto line = [&](size_t c) { return height_of(plot.line[c]); };
  for_each_stretch(plot.line.size(), line, [&](size_t first, size_t columns) {
    if (line(first) > 0) svg += rectangle("ex", first, columns, top + kPlotHeight - line(first), 1);
  });
  for (size_t b = 0; b < plot.bars.size(); ++b) {
    const ColumnPlot::Bar& bar = plot.bars[b];
    const auto holds = [&](size_t c) { return static_cast<bool>(bar.columns[c]); };
    for_each_stretch(bar.columns.size(), holds, [&](size_t first, size_t columns) {
      if (holds(first))
        svg += rectangle(bar.css, first, columns, top + static_cast<int>(b) * (kBarHeight + 1), kBarHeight);
    });
  }
  return svg;
}

}  // namespace

size_t plot_column_of(Time at, Time end) {
  const int64_t ps = std::clamp<int64_t>(at.ps, 0, end.ps - 1);
  return static_cast<size_t>(static_cast<__int128>(ps) * kPlotColumns / end.ps);
}

std::string column_plots_svg(const char* title, Time end, std::span<const ColumnPlot> plots) {
  std::string drawn;
  for (size_t i = 0; i < plots.size(); ++i) drawn += plot_svg(plots[i], static_cast<int>(i) * (kPlotHeight + kPlotGap));
  const int height = static_cast<int>(plots.size()) * (kPlotHeight + kPlotGap);
  return fmt::format("<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n",
                     kNameWidth + kSeriesWidth + 40, height + 20, html_escaped(title)) +
         time_axis_svg(end, {.left = kNameWidth, .width = kSeriesWidth, .height = height}) + drawn + "</svg></div>\n";
}

}  // namespace rankwire
