#include "emulator/suite/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

// The unit is a pixel of a page that is 1000 wide.
constexpr int kPlotLeft = 70, kPlotRight = 760, kPlotTop = 30, kPlotBottom = 290, kChartWidth = 1000,
              kChartHeight = 335, kLabelDistance = 14;
constexpr size_t kMostDots = 60, kMostTicks = 7, kMostLabel = 32;

/// Legible on light and dark pages.
const char* curve_colour(size_t curve) {
  static constexpr std::array kColours = {"#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2",
                                          "#72b7b2", "#9d755d", "#eeca3b", "#ff9da6", "#79706e"};
  return kColours[curve % kColours.size()];
}

class ChartAxis {
 public:
  /// `values` are finite; there is one at least.
  /// `begins_at_zero`: an axis whose ends are marked, and where it is linear 0 is on it.
  ChartAxis(const std::vector<double>& values, bool begins_at_zero) {
    const auto [least, most] = std::ranges::minmax(values);
    logarithmic_ = least > 0 && most / least >= 100;
    if (logarithmic_) {
      low_ = begins_at_zero ? std::floor(std::log10(least)) : std::log10(least);
      high_ = begins_at_zero ? std::ceil(std::log10(most)) : std::log10(most);
    } else {
      low_ = begins_at_zero && least > 0 ? 0 : least;
      high_ = begins_at_zero && most < 0 ? 0 : most;
      const double step = step_for(high_ - low_);
      if (begins_at_zero) {
        low_ = std::floor(low_ / step) * step;
        high_ = std::ceil(high_ / step) * step;
      }
    }
    if (high_ <= low_) high_ = low_ + 1;
  }

  /// 0 at the low end and 1 at the high one.
  double part(double value) const { return ((logarithmic_ ? std::log10(value) : value) - low_) / (high_ - low_); }

  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (logarithmic_) {
      const double step = std::max(1.0, std::ceil((high_ - low_) / static_cast<double>(kMostTicks)));
      for (double decade = std::ceil(low_ - 1e-9); decade <= high_ + 1e-9; decade += step)
        ticks.push_back(std::pow(10, decade));
    } else {
      const double step = step_for(high_ - low_);
      for (double i = std::ceil(low_ / step); i * step <= high_ + step / 1e6; ++i) ticks.push_back(i * step);
    }
    return ticks;
  }

 private:
  /// 1, 2 or 5 times a power of ten.
  static double step_for(double range) {
    if (range <= 0) return 1;
    const double rough = range / static_cast<double>(kMostTicks - 1);
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double digit : {1.0, 2.0, 5.0})
      if (digit * power >= rough) return digit * power;
    return 10 * power;
  }

  bool logarithmic_ = false;
  double low_ = 0, high_ = 1;  ///< where logarithmic, exponents of ten
};

/// "20", "1.5k", "100M".
std::string tick_text(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> kPrefixes{{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [size, prefix] : kPrefixes)
    if (std::abs(value) >= size) return fmt::format("{:.4g}{}", value / size, prefix);
  return fmt::format("{:.4g}", value);
}

bool is_drawn(const MeasuredCurve::Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

std::vector<double> values_of(std::span<const MeasuredCurve> curves, double MeasuredCurve::Point::*which) {
  std::vector<double> values;
  for (const MeasuredCurve& curve : curves)
    for (const MeasuredCurve::Point& point : curve.points)
      if (is_drawn(point)) values.push_back(point.*which);
  return values;
}

std::string axis_title(const std::string& name, const std::string& unit) {
  return html_escaped(unit.empty() ? name : fmt::format("{} ({})", name, unit));
}

class CurveDrawing {
 public:
  CurveDrawing(std::span<const MeasuredCurve> curves, const std::vector<double>& xs, const std::vector<double>& ys)
      : curves_(curves), x_(xs, false), y_(ys, true) {}

  std::string svg() const {
    const MeasuredCurve& first = curves_.front();
    std::string body = axes();
    for (size_t i = 0; i < curves_.size(); ++i) body += curve(i);
    return fmt::format(
        "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>{} over {}</title>\n{}{}</svg></div>\n",
        kChartWidth, std::max(kChartHeight, kPlotTop + kLabelDistance * static_cast<int>(curves_.size() + 1)),
        axis_title(first.y_name, first.y_unit), axis_title(first.x_name, first.x_unit), body, labels());
  }

 private:
  double across(double x) const { return kPlotLeft + (kPlotRight - kPlotLeft) * x_.part(x); }
  double down(double y) const { return kPlotBottom - (kPlotBottom - kPlotTop) * y_.part(y); }

  std::string axes() const {
    const MeasuredCurve& first = curves_.front();
    std::string text = fmt::format(
        "<text x=\"0\" y=\"14\">{}</text>\n<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
        axis_title(first.y_name, first.y_unit), kPlotRight, kPlotBottom + 38, axis_title(first.x_name, first.x_unit));
    for (const double y : y_.ticks())
      text += fmt::format(
          "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text x=\"{}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          kPlotLeft, kPlotRight, down(y), down(y), kPlotLeft - 8, down(y) + 4, tick_text(y));
    for (const double x : x_.ticks())
      text += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", across(x), kPlotBottom + 18,
                          tick_text(x));
    return text;
  }

  std::string curve(size_t index) const {
    const std::vector<MeasuredCurve::Point>& points = curves_[index].points;
    std::string text, run;
    const auto end_run = [&] {
      if (!run.empty())
        text += fmt::format("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"{}\" points=\"{}\"/>\n",
                            curve_colour(index), run);
      run.clear();
    };
    for (const MeasuredCurve::Point& point : points) {
      if (!is_drawn(point)) {
        end_run();
        continue;
      }
      run += fmt::format("{:.1f},{:.1f} ", across(point.x), down(point.y));
      if (points.size() <= kMostDots)
        text += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{:.6g}, {:.6g}</title></circle>\n",
            across(point.x), down(point.y), curve_colour(index), point.x, point.y);
    }
    end_run();
    return text;
  }

  /// Beside the ends of the curves, moved apart where they would overlap.
  std::string labels() const {
    struct Label {
      double y;
      size_t curve;
    };
    std::vector<Label> ends;
    for (size_t i = 0; i < curves_.size(); ++i) {
      const auto last = std::find_if(curves_[i].points.rbegin(), curves_[i].points.rend(), is_drawn);
      if (last != curves_[i].points.rend()) ends.push_back({down(last->y), i});
    }
    std::ranges::stable_sort(ends, {}, &Label::y);
    std::string text;
    double above = 0;
    for (const Label& label : ends) {
      above = std::max(label.y, above + kLabelDistance);
      const std::string& name = curves_[label.curve].name;
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" style=\"fill:{}\"><title>{}</title>{}</text>\n", kPlotRight + 10,
                          above + 4, curve_colour(label.curve), html_escaped(name),
                          html_escaped(name.size() <= kMostLabel ? name : name.substr(0, kMostLabel - 3) + "..."));
    }
    return text;
  }

  std::span<const MeasuredCurve> curves_;
  ChartAxis x_, y_;
};

}  // namespace

std::string curve_chart_svg(std::span<const MeasuredCurve> curves) {
  const std::vector<double> xs = values_of(curves, &MeasuredCurve::Point::x);
  if (xs.empty()) return {};
  return CurveDrawing(curves, xs, values_of(curves, &MeasuredCurve::Point::y)).svg();
}

}  // namespace rankwire
