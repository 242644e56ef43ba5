#include "emulator/report/html_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/page_data.h"

namespace rankwire {
namespace {

constexpr int kCurvesLeft = 50, kCurvesWidth = 800, kCurvesTop = 10, kCurvesHeight = 220, kCurvesRight = 60;
constexpr size_t kMostTimeTicks = 14;
constexpr std::pair<const char*, double> kMarked[] = {{"P50", 0.5}, {"P99", 0.99}, {"P99.9", 0.999}};

/// From a multiple of 1, 2 or 5 of a power of ten to another, in picoseconds.
class LogAxis {
 public:
  LogAxis(Duration first, Duration last) {
    const int64_t least = std::max<int64_t>(first.ps, 1), most = std::max<int64_t>(last.ps, 1);
    std::vector<int64_t> steps;
    for (int64_t power = 1;; power *= 10) {
      for (const int64_t factor : {1, 2, 5}) {
        const int64_t step = power * factor;
        if (step <= least) steps.clear();
        steps.push_back(step);
        if (step > least && step >= most) {
          ticks_ = std::move(steps);
          return;
        }
      }
      if (power > INT64_MAX / 100) break;
    }
    ticks_ = {least, most};
  }
  int64_t from() const { return ticks_.front(); }
  int64_t to() const { return ticks_.back(); }
  double x(int64_t ps) const {
    const double part = std::log(static_cast<double>(std::max<int64_t>(ps, from())) / static_cast<double>(from())) /
                        std::log(static_cast<double>(to()) / static_cast<double>(from()));
    return kCurvesLeft + kCurvesWidth * std::min(part, 1.0);
  }
  /// Powers of ten alone where the others are too many.
  std::vector<int64_t> ticks() const {
    if (ticks_.size() <= kMostTimeTicks) return ticks_;
    std::vector<int64_t> powers;
    for (const int64_t tick : ticks_) {
      int64_t power = 1;
      while (power < tick) power *= 10;
      if (power == tick) powers.push_back(tick);
    }
    return powers;
  }

 private:
  std::vector<int64_t> ticks_;
};

double y_of(double part) {
  return kCurvesTop + kCurvesHeight * (1 - part);
}

std::string curve_axes(const LogAxis& axis) {
  std::string svg;
  for (const int64_t tick : axis.ticks())
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><text class=\"tick\" x=\"{0:.1f}\" "
        "y=\"{3}\">{4}</text>\n",
        axis.x(tick), kCurvesTop, kCurvesTop + kCurvesHeight, kCurvesTop + kCurvesHeight + 14,
        readable(Duration(tick)));
  for (const int per_cent : {0, 25, 50, 75, 100})
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5} %</text>\n",
        kCurvesLeft, kCurvesLeft + kCurvesWidth, y_of(per_cent / 100.0), kCurvesLeft - 6, y_of(per_cent / 100.0) + 4,
        per_cent);
  return svg;
}

std::string curve_path(const MessageCurve& curve, const LogAxis& axis) {
  std::string path = fmt::format("M{:.1f} {:.1f}", axis.x(curve.points.front().time.ps), y_of(0));
  for (const MessageCurve::Point& point : curve.points)
    path += fmt::format("H{:.1f}V{:.1f}", axis.x(point.time.ps), y_of(point.part));
  path += fmt::format("H{}", kCurvesLeft + kCurvesWidth);
  std::string svg = fmt::format("<path class=\"curve {}\" d=\"{}\"/>\n", curve.run, path);
  for (const auto& [name, part] : kMarked) {
    const Duration time = curve.quantile(part);
    svg += fmt::format(
        "<circle class=\"mark {0}\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"4\"><title>{0} {3} {4}</title></circle>\n",
        curve.run, axis.x(time.ps), y_of(part), name, readable(time));
  }
  return svg;
}

nlohmann::ordered_json curve_json(const MessageCurve& curve) {
  std::vector<int64_t> places, times;
  for (const MessageCurve::Point& point : curve.points) {
    places.push_back(std::llround(point.part * static_cast<double>(curve.count)));
    times.push_back(point.time.ps);
  }
  return {{"run", curve.run},
          {"count", curve.count},
          {"points", places.size()},
          {"place", vlq_differences(places)},
          {"time", vlq_differences(times)}};
}

std::string known_from(MessageCurve::Source source) {
  switch (source) {
    case MessageCurve::Source::kMessages:
      return "every message";
    case MessageCurve::Source::kHistogram:
      return "histogram, at most 3.2 % too high";
    case MessageCurve::Source::kQuantiles:
      return "five quantiles, at most 3.2 % too high";
  }
  return {};
}

std::string name_of_kind(const MessageCurves& curves) {
  return curves.kind.empty() ? "all messages" : curves.kind;
}

std::string times_table(const std::vector<MessageCurves>& kinds) {
  using HtmlColumn::kText;
  HtmlTable table("message times", {{"Kind", kText},
                                    {"Run", kText},
                                    {"Messages"},
                                    {"Shortest"},
                                    {"P50"},
                                    {"P99"},
                                    {"P99.9"},
                                    {"Longest"},
                                    {"Known from", kText}});
  for (const MessageCurves& curves : kinds) {
    for (const MessageCurve& curve : curves.runs) {
      const bool is_exact = curve.source == MessageCurve::Source::kMessages;
      table.add({name_of_kind(curves), curve.run, curve.count,
                 is_exact ? std::optional(curve.points.front().time) : std::nullopt, curve.quantile(0.5),
                 curve.quantile(0.99), curve.quantile(0.999), curve.points.back().time, known_from(curve.source)});
    }
  }
  return std::move(table).finish();
}

}  // namespace

std::string message_curves_figure(const MessageCurves& curves, const char* what) {
  Duration first, last;
  for (const MessageCurve& curve : curves.runs) {
    if (&curve == &curves.runs.front()) first = curve.points.front().time;
    first = std::min(first, curve.points.front().time);
    last = std::max(last, curve.points.back().time);
  }
  if (last <= Duration()) return {};
  const LogAxis axis(first, last);
  std::string keys, paths;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MessageCurve& curve : curves.runs) {
    keys += fmt::format("<span class=\"line {0}\"></span>{0} ", curve.run);
    paths += curve_path(curve, axis);
    list.push_back(curve_json(curve));
  }
  const nlohmann::ordered_json data = {{"left", kCurvesLeft},      {"width", kCurvesWidth},  {"top", kCurvesTop},
                                       {"height", kCurvesHeight},  {"from_ps", axis.from()}, {"to_ps", axis.to()},
                                       {"curves", std::move(list)}};
  const std::string name = html_escaped(name_of_kind(curves));
  return fmt::format(
      "<figure class=\"times\" data-kind=\"{0}\" data-curves=\"{1}\">\n<figcaption class=\"note\">{0}: "
      "{2}</figcaption>\n"
      "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {3} {4}\">\n<title>Part of the {7} that took so long at "
      "most: {0}</title>\n{5}{6}</svg></div>\n</figure>\n",
      name, json_in_attribute(data), keys, kCurvesLeft + kCurvesWidth + kCurvesRight, kCurvesTop + kCurvesHeight + 20,
      curve_axes(axis), paths, what);
}

std::string html_message_times(const RunReader& record) {
  const std::vector<MessageCurves> kinds = message_curves(record);
  if (kinds.empty()) return {};
  std::string html =
      "<p class=\"note\">From post to delivery, control messages left out; the part of the messages that took so long "
      "at "
      "most. Dots are P50, P99 and P99.9.";
  if (kinds.size() == 1 && kinds.front().runs.front().source != MessageCurve::Source::kMessages)
    html += " By kind of operation with record.messages: all.";
  html += "</p>\n<div id=\"times\">\n";
  for (const MessageCurves& curves : kinds) html += message_curves_figure(curves);
  return html + "</div>\n" + times_table(kinds);
}

}  // namespace rankwire
