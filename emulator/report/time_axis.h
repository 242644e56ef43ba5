// The axis of pictures over run time.
#pragma once

#include <string>

#include "base/units.h"

namespace rankwire {

/// Where a picture has its plot, in units of its view box; the top is 0.
struct PlotArea {
  int left = 0, width = 0, height = 0;
};

/// Lines through the plot, at most 11 from 0 to `end` (> 0), and their times beneath it.
std::string time_axis_svg(Time end, const PlotArea& plot);

}  // namespace rankwire
