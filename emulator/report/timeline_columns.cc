#include "emulator/report/timeline_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rankwire {
namespace {

/// Where a column begins, in picoseconds; columns may be shorter than one.
double begin_of(size_t column, Time end) {
  return static_cast<double>(column) / static_cast<double>(TimelineColumns::kColumns) * static_cast<double>(end.ps);
}

}  // namespace

void TimelineColumns::mark(OperationTimes times, Time end) {
  end_ = end;
  const Time from = std::max(times.start, until_);
  if (times.end <= from) return;
  until_ = times.end;
  constexpr auto kAll = static_cast<int64_t>(kColumns);
  const auto first = static_cast<size_t>(static_cast<__int128>(from.ps) * kAll / end.ps);
  const auto last = static_cast<size_t>((static_cast<__int128>(times.end.ps) * kAll - 1) / end.ps);
  for (size_t c = first; c <= std::min(last, kColumns - 1); ++c) {
    covered_[c] += std::min(static_cast<double>(times.end.ps), begin_of(c + 1, end)) -
                   std::max(static_cast<double>(from.ps), begin_of(c, end));
  }
}

std::string TimelineColumns::svg(int left, int top, int height, const char* css) const {
  const auto height_of = [&](size_t c) {
    if (covered_[c] <= 0) return 0.0;
    const double share = covered_[c] / (begin_of(c + 1, end_) - begin_of(c, end_));
    return std::max(std::round(share * height * 10) / 10, kLeastHeight);
  };
  std::string text;
  for (size_t c = 0; c < kColumns;) {
    const double tall = height_of(c);
    size_t stop = c + 1;
    while (stop < kColumns && height_of(stop) == tall) ++stop;
    if (tall > 0) {
      text += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{:g}\" width=\"{}\" height=\"{:g}\"/>\n", css,
                          left + static_cast<int>(c) * kColumnWidth, top + height - tall,
                          static_cast<int>(stop - c) * kColumnWidth, tall);
    }
    c = stop;
  }
  return text;
}

}  // namespace rankwire
