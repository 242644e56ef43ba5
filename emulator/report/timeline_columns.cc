#include "emulator/report/timeline_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

void TimelineColumns::mark(OperationTimes times, Time end) {
  if (times.duration() <= Duration(0)) return;
  const auto column = [&](int64_t ps) {
    return static_cast<size_t>(static_cast<__int128>(ps) * static_cast<int64_t>(kColumns) / end.ps);
  };
  const size_t last = std::min(column(times.end.ps - 1), kColumns - 1);
  for (size_t c = column(std::max<int64_t>(times.start.ps, 0)); c <= last; ++c) columns_.set(c);
}

std::string TimelineColumns::svg(int left, int top, int height, const char* css) const {
  std::string text;
  for (size_t c = 0; c < kColumns;) {
    if (!columns_[c]) {
      ++c;
      continue;
    }
    size_t stop = c;
    while (stop < kColumns && columns_[stop]) ++stop;
    text +=
        fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", css,
                    left + static_cast<int>(c) * kColumnWidth, top, static_cast<int>(stop - c) * kColumnWidth, height);
    c = stop;
  }
  return text;
}

}  // namespace rankwire
