#include "emulator/report/time_axis.h"

#include <fmt/format.h>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

/// The least of 1, 2 and 5 times a power of ten that cuts `end` into at most 10 parts.
int64_t tick_of(int64_t end) {
  int64_t power = 1;
  while (power <= end / 100) power *= 10;
  for (const int64_t factor : {1, 2, 5}) {
    if ((end + 9) / 10 <= power * factor) return power * factor;
  }
  return power * 10;
}

}  // namespace

std::string time_axis_svg(Time end, const PlotArea& plot) {
  std::string svg;
  const int64_t tick = tick_of(end.ps);
  for (int64_t ps = 0; ps <= end.ps; ps += tick) {
    const int x = plot.left + static_cast<int>(static_cast<__int128>(ps) * plot.width / end.ps);
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"0\" x2=\"{0}\" y2=\"{1}\"/>\n<text class=\"tick\" x=\"{0}\" y=\"{2}\">{3}</text>\n", x,
        plot.height, plot.height + 13, ps == 0 ? "0" : readable(Duration(ps)));
  }
  return svg;
}

}  // namespace rankwire
