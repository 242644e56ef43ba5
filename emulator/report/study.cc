#include "emulator/report/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/report/format.h"
#include "emulator/report/line_chart.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// A line for each group and run: completion times over that of the first point.
LineChart chart_of(const StudyReportFigure& figure) {
  LineChart chart{.title = "Completion time over that of the first point", .lines = {}};
  for (const SweepPoint& point : figure.sweep.points) {
    for (const SweepSide& side : point.sides) {
      const std::string label =
          point.sides.size() == 1 ? point.values[0] : fmt::format("{} {}", point.values[0], side.run);
      if (chart.lines.empty() || std::ranges::find(chart.lines, label, &LineChart::Line::label) == chart.lines.end())
        chart.lines.push_back({label, {}});
      LineChart::Line& line = *std::ranges::find(chart.lines, label, &LineChart::Line::label);
      line.points.push_back({point.values[1], static_cast<double>(side.completion.ps)});
    }
  }
  for (LineChart::Line& line : chart.lines) {
    const double first = line.points.front().value;
    for (LineChart::Point& point : line.points) point.value = first > 0 ? point.value / first : 0;
  }
  return chart;
}

}  // namespace

Json study_json(const Study& study) {
  Json json{{"name", study.name}, {"title", study.title}, {"figures", Json::array()}};
  for (const StudyReportFigure& figure : study.figures) {
    Json item{
        {"name", figure.sweep.name}, {"title", figure.title}, {"axes", figure.sweep.keys}, {"points", Json::array()}};
    for (const SweepPoint& point : figure.sweep.points) {
      Json labels{{"group", point.values[0]}, {"point", point.values[1]}};
      labels.update(point_json(figure.sweep, point));
      item["points"].push_back(std::move(labels));
    }
    json["figures"].push_back(std::move(item));
  }
  return json;
}

std::string study_csv(const Study& study) {
  std::string csv = "figure,group,point," + sweep_csv_columns(study.columns) + "\n";
  for (const StudyReportFigure& figure : study.figures) {
    for (const SweepPoint& point : figure.sweep.points) {
      for (const std::string& line : sweep_csv_lines(figure.sweep, point)) {
        csv += fmt::format("{},{},{},{}\n", csv_field(figure.sweep.name), csv_field(point.values[0]),
                           csv_field(point.values[1]), line);
      }
    }
  }
  return csv;
}

std::string study_tables(const Study& study) {
  std::string text = study.title + "\n";
  for (const StudyReportFigure& figure : study.figures)
    text += fmt::format("\n{}\n{}", figure.title, sweep_table(figure.sweep));
  return text;
}

std::string study_html(const Study& study) {
  std::string html = sweep_page_head(study.title);
  for (const StudyReportFigure& figure : study.figures) {
    html += fmt::format("<h2>{}</h2>\n", html_escaped(figure.title));
    if (figure.lines) {
      html += line_chart_svg(chart_of(figure));
    } else {
      html += "<p class=\"note\">Each group has a scale of its own.</p>\n";
      html += sweep_picture(figure.sweep, SweepScale::kByFirstValue);
    }
    html += sweep_html_table(figure.sweep);
  }
  return html + "</body></html>\n";
}

}  // namespace rankwire
