// Lines over named places, as inline SVG.
#pragma once

#include <string>
#include <vector>

namespace rankwire {

struct LineChart {
  struct Point {
    std::string place;  ///< on the horizontal axis
    double value;       ///< >= 0
  };
  struct Line {
    std::string label;
    std::vector<Point> points;
  };

  std::string title;
  std::vector<Line> lines;
  bool logarithmic = false;  ///< vertical axis, for values > 0
};

/// Places stand in the order in which the lines name them first; the vertical axis begins at 0, a logarithmic one at
/// the power of ten below all values. Empty without points.
/// Labels stand beside the lines' ends, moved apart where they would overlap.
std::string line_chart_svg(const LineChart& chart);

}  // namespace rankwire
