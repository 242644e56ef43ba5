// A latency histogram as one inline SVG of bounded size.
#pragma once

#include <string>

#include "emulator/record/run_record.h"

namespace rankwire {

/// Time on a logarithmic axis over whole octaves; at most 288 bars, as high as the logarithm of 1 + the values on equal
/// stretches of that axis, so that single late packets show beside millions; lines at the median, P99 and P99.9. Empty
/// when there are no values. Colours are those of the style sheet's classes ec and quantile.
std::string histogram_svg(const LatencyRow& latency);

}  // namespace rankwire
