#include "emulator/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr int kLeft = 50, kRight = 760, kTop = 16, kBottom = 276, kWidth = 1000, kHeight = 310, kLabelHeight = 14;

/// Legible on light and dark pages.
const char* colour_of(size_t line) {
  static constexpr const char* kColours[] = {"#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2",
                                             "#72b7b2", "#9d755d", "#eeca3b", "#ff9da6", "#79706e"};
  return kColours[line % std::size(kColours)];
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    for (const LineChart::Line& line : chart.lines) {
      for (const LineChart::Point& point : line.points) {
        if (std::ranges::find(places_, point.place) == places_.end()) places_.push_back(point.place);
        most_ = std::max(most_, point.value);
        least_ = std::min(least_, point.value);
      }
    }
    if (!chart.logarithmic || most_ <= 0 || least_ <= 0) return;
    first_decade_ = static_cast<int>(std::floor(std::log10(least_)));
    decades_ = std::max(static_cast<int>(std::ceil(std::log10(most_))) - first_decade_, 1);
  }

  std::string svg() const {
    if (places_.empty() || most_ <= 0) return {};
    std::string body = axes();
    for (size_t i = 0; i < chart_.lines.size(); ++i) body += polyline(i);
    return fmt::format(
        "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n{}{}</svg></div>\n", kWidth,
        std::max(kHeight, kTop + kLabelHeight * static_cast<int>(chart_.lines.size() + 1)), html_escaped(chart_.title),
        body, labels());
  }

 private:
  double x_of(const std::string& place) const {
    const auto index = std::ranges::find(places_, place) - places_.begin();
    const auto steps = static_cast<double>(std::max<size_t>(places_.size() - 1, 1));
    return kLeft + (kRight - kLeft) * static_cast<double>(index) / steps;
  }
  double y_of(double value) const {
    const double part = decades_ == 0 ? value / most_ : (std::log10(value) - first_decade_) / decades_;
    return kBottom - (kBottom - kTop) * part;
  }
  /// With as many decimals as tell values apart that are far below 1.
  std::string text_of(double value) const {
    if (decades_ != 0) return four_digits(value);
    return fmt::format("{:.{}f}", value, most_ >= 1 ? 2 : 2 - static_cast<int>(std::floor(std::log10(most_))));
  }
  /// Where the horizontal lines are.
  std::vector<double> marks() const {
    std::vector<double> marks;
    if (decades_ == 0) {
      for (int part = 0; part <= 4; ++part) marks.push_back(most_ * part / 4);
    } else {
      for (int decade = 0; decade <= decades_; ++decade) marks.push_back(std::pow(10, first_decade_ + decade));
    }
    return marks;
  }

  std::string axes() const {
    std::string text;
    for (const double value : marks()) {
      text +=
          fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text x=\"0\" y=\"{:.1f}\">{}</text>\n",
                      kLeft, kRight, y_of(value), y_of(value), y_of(value) + 4, text_of(value));
    }
    for (const std::string& place : places_) {
      text += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x_of(place), kBottom + 18,
                          html_escaped(place));
    }
    return text;
  }

  std::string polyline(size_t index) const {
    std::string points, dots;
    for (const LineChart::Point& point : chart_.lines[index].points) {
      points += fmt::format("{:.1f},{:.1f} ", x_of(point.place), y_of(point.value));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x_of(point.place),
                          y_of(point.value), colour_of(index));
    }
    return fmt::format("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"{}\" points=\"{}\"/>\n{}", colour_of(index),
                       points, dots);
  }

  std::string labels() const {
    std::vector<size_t> order(chart_.lines.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto last = [&](size_t i) { return y_of(chart_.lines[i].points.back().value); };
    std::ranges::stable_sort(order, {}, last);
    std::string text;
    double above = 0;
    for (const size_t i : order) {
      above = std::max(last(i), above + kLabelHeight);
      text +=
          fmt::format("<text x=\"{}\" y=\"{:.1f}\" style=\"fill:{}\">{} {}</text>\n", kRight + 10, above + 4,
                      colour_of(i), html_escaped(chart_.lines[i].label), text_of(chart_.lines[i].points.back().value));
    }
    return text;
  }

  const LineChart& chart_;
  std::vector<std::string> places_;
  double most_ = 0, least_ = std::numeric_limits<double>::max();
  int first_decade_ = 0, decades_ = 0;  ///< decades: 0 for a linear axis
};

}  // namespace

std::string line_chart_svg(const LineChart& chart) {
  return Drawing(chart).svg();
}

}  // namespace rankwire
