#include "emulator/report/histogram_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr int kBarsLeft = 40, kBarsWidth = 800, kBarsTop = 44, kBarsHeight = 140, kLine = 14;
constexpr int kMostBars = 256;  // from 32 ps on, where buckets are parts of octaves
constexpr size_t kMostTicks = 12;

/// Values low .. high, both included.
struct Bar {
  int64_t low, high;
  uint64_t count;

  /// Parts of an octave have different lengths on the axis: without this, every octave would begin with a step.
  double values_per_octave() const {
    const double from = std::log2(static_cast<double>(std::max<int64_t>(low, 1)));
    const double length = std::log2(static_cast<double>(high) + 1) - from;
    return static_cast<double>(count) / std::max(length, 1.0 / 64);
  }
};

/// From the octave of the smallest value to the end of that of the largest.
struct Range {
  int first, last;

  explicit Range(const std::vector<Histogram::Bucket>& buckets)
      : first(octave(buckets.front().low.ps)), last(octave(buckets.back().high.ps) + 1) {}
  static int octave(int64_t ps) { return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(ps, 1))) - 1; }
  double x(double ps) const {
    const double part = (std::log2(std::max(ps, 1.0)) - first) / (last - first);
    return kBarsLeft + kBarsWidth * std::clamp(part, 0.0, 1.0);
  }
};

/// Puts neighbouring buckets of an octave together until there are few enough.
std::vector<Bar> bars_of(const std::vector<Histogram::Bucket>& buckets, const Range& range) {
  int parts = 32;  // of an octave
  while (parts > 1 && parts * (range.last - range.first) > kMostBars) parts /= 2;
  std::vector<Bar> bars;
  for (const Histogram::Bucket& bucket : buckets) {
    int64_t low = bucket.low.ps, high = bucket.high.ps;
    if (low >= 32) {
      const int64_t width = (int64_t{1} << Range::octave(low)) / parts;
      low -= low % width;
      high = low + (width - 1);
    }
    if (!bars.empty() && bars.back().low == low) {
      bars.back().count += bucket.count;
    } else {
      bars.push_back({low, high, bucket.count});
    }
  }
  return bars;
}

/// 1, 2 and 5 times the powers of ten within the range; the powers alone where those are too many.
std::vector<int64_t> ticks_of(const Range& range) {
  for (const auto& factors : {std::vector<int64_t>{1, 2, 5}, std::vector<int64_t>{1}}) {
    std::vector<int64_t> ticks;
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
      for (const int64_t factor : factors) {
        const double at = std::log2(static_cast<double>(power * factor));
        if (at >= range.first && at <= range.last) ticks.push_back(power * factor);
      }
    }
    if (ticks.size() <= kMostTicks || factors.size() == 1) return ticks;
  }
  return {};
}

std::string line_at(double x, int top, const char* css) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>\n", css, x, top, x,
                     kBarsTop + kBarsHeight);
}

std::string axis(const Range& range) {
  std::string svg;
  for (const int64_t tick : ticks_of(range)) {
    const double x = range.x(static_cast<double>(tick));
    svg += line_at(x, kBarsTop, "scale") + fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x,
                                                       kBarsTop + kBarsHeight + kLine, readable(Duration(tick)));
  }
  return svg;
}

/// One below the other, because they may be close together.
std::string quantiles(const LatencyRow& latency, const Range& range) {
  std::string svg;
  int top = 0;
  for (const auto& [name, value] :
       {std::pair{"median", latency.p50}, std::pair{"P99", latency.p99}, std::pair{"P99.9", latency.p999}}) {
    const double x = range.x(static_cast<double>(value.ps));
    svg += line_at(x, top, "quantile") +
           fmt::format("<text x=\"{:.1f}\" y=\"{}\">{} {}</text>\n", x + 3, top + kLine - 3, name, readable(value));
    top += kLine;
  }
  return svg;
}

}  // namespace

std::string histogram_svg(const LatencyRow& latency) {
  if (latency.buckets.empty()) return {};
  const Range range(latency.buckets);
  const std::vector<Bar> bars = bars_of(latency.buckets, range);
  const auto height_of = [](const Bar& bar) { return std::log1p(bar.values_per_octave()); };
  const double scale = kBarsHeight / height_of(std::ranges::max(bars, {}, height_of));
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>How many packets took how long, both on logarithmic "
      "scales</title>\n",
      kBarsLeft + kBarsWidth + 100, kBarsTop + kBarsHeight + kLine + 6);
  svg += axis(range);
  for (const Bar& bar : bars) {
    const double from = range.x(static_cast<double>(bar.low)), to = range.x(static_cast<double>(bar.high) + 1);
    const double height = height_of(bar) * scale;
    svg += fmt::format("<rect class=\"ec\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", from,
                       kBarsTop + kBarsHeight - height, std::max(to - from, 1.0), height);
  }
  return svg + quantiles(latency, range) + "</svg>\n";
}

}  // namespace rankwire
