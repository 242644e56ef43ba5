// Pictures of values over run time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

constexpr size_t kPlotColumns = 400;  ///< into which run time is cut

/// One of several plots beneath each other. What has values by column has kPlotColumns of them.
struct ColumnPlot {
  /// A thin bar above the plot, along the columns in which something holds; the first the highest.
  struct Bar {
    const char* css;
    std::vector<bool> columns;
  };

  std::string name, unit;
  std::vector<double> filled;  ///< heights 0 .. 1 of a filled curve
  std::vector<double> line;    ///< of a line in front of it; empty: none
  std::vector<Bar> bars;       ///< 3 at most
};

/// `title` is for readers who do not see it; `end` > 0.
std::string column_plots_svg(const char* title, Time end, std::span<const ColumnPlot> plots);

/// The column of a time, which may lie outside of 0 .. `end`.
size_t plot_column_of(Time at, Time end);

}  // namespace rankwire
