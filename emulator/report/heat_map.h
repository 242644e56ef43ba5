// Maps of many values: rows of cells, each the fuller the more it has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emulator/report/time_axis.h"

namespace rankwire {

struct HeatRow {
  std::string name, note;     ///< before and behind the row
  std::vector<double> parts;  ///< 0 .. 1, as many in each row; 0 is empty
};

/// Where the cells of so many rows stand.
PlotArea heat_map_area(size_t rows);

/// `title` is for readers who do not see it; `axis` stands behind the cells and beneath them. At least one row and
/// cell.
std::string heat_map_svg(const char* title, std::span<const HeatRow> rows, const std::string& axis);

}  // namespace rankwire
