// Curves over a common axis, as inline SVG.
#pragma once

#include <span>
#include <string>

#include "emulator/suite/test_case.h"

namespace rankwire {

/// All in one graph whose axes are those of the first. An axis of values above 0 is logarithmic where these span two
/// decades and more, and otherwise one of y begins at 0 unless values are below. A point that is not finite is left out
/// and the curve has a gap there. Empty without points.
std::string curve_chart_svg(std::span<const MeasuredCurve> curves);

}  // namespace rankwire
